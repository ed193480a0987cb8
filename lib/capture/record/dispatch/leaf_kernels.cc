// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/dispatch/leaf_kernels.h"

#include <torch/library.h>

#include "core/error.h"

namespace elixir::capture {
namespace {

/// Never runs, because geometry rules run before any Meta kernel.
void never(const c10::OperatorHandle& op, torch::jit::Stack*) {
  throw Error(ErrorCode::kInternal, "no geometry rule for {}", op.operator_name().name);
}

}  // namespace

LeafKernels::LeafKernels(const program::Target& target)
    : library_(std::make_unique<torch::Library>(
          torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__)) {
  const auto add = [&](const char* name) {
    library_->impl(name, torch::CppFunction::makeFromBoxedFunction<&never>());
  };
  add("mish_backward");
  if (target.kind == program::Target::Kind::kCuda) add("_fused_rms_norm");
}

LeafKernels::~LeafKernels() = default;

}  // namespace elixir::capture
