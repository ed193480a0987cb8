// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// For builds without CUDA.
#include "core/error.h"
#include "runtime/step_memory.h"

namespace elixir::runtime {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kNoGpu,
              "there is no GPU to measure on: this Elixir was built without CUDA")
      .help("build it where nvcc and CUDA's libraries are (-Dcuda=enabled)");
}

}  // namespace

MeasuredMemory measure_autograd(const capture::Model&,
                                const capture::Options&,
                                const program::Program&,
                                program::Optimizer,
                                int) {
  refuse();
}

MeasuredMemory measure_replay(const capture::Captured&, program::Optimizer, int) {
  refuse();
}

}  // namespace elixir::runtime
