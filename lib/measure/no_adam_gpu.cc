// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/error.h"
#include "measure/adam_gpu.h"

namespace elixir::measure {

std::vector<double> gpu_adam_seconds(kernels::Element, std::size_t, const Sampling&) {
  throw Error(ErrorCode::kMissingFeature, "this build of Elixir has no CUDA");
}

}  // namespace elixir::measure
