// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The kernel timer of a build without CUPTI.
#include "core/error.h"
#include "measure/operators/kernel_timer.h"

namespace elixir::measure {
namespace {

constexpr const char* kNoKernelTimer =
    "this build of Elixir has no CUPTI (meson option cupti); events time the calls instead";

}  // namespace

std::optional<std::string> kernel_timer_unavailable() {
  return kNoKernelTimer;
}
double gpu_kernel_seconds(const std::function<void()>& /*work*/) {
  throw Error(ErrorCode::kMissingFeature, kNoKernelTimer);
}

}  // namespace elixir::measure
