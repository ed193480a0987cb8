// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Timing of the GPU's optimizer kernel; kMissingFeature in a build without CUDA.

#include <cstddef>
#include <vector>

#include "kernels/adam.h"
#include "measure/sampling.h"

namespace elixir::measure {

/// Seconds of one AdamW pass over `n` parameters on the GPU.
[[nodiscard]] std::vector<double> gpu_adam_seconds(kernels::Element gradient,
                                                   std::size_t n,
                                                   const Sampling& sampling);

}  // namespace elixir::measure
