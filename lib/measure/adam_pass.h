// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One AdamW pass of the runtime's kernels, timed: which arrays it has, and how long it takes.

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/adam.h"
#include "measure/measurement.h"

namespace elixir::measure {

/// The parameter has the gradient's dtype; with fp32 it is the master.
struct AdamPass {
  kernels::Element gradient = kernels::Element::kBFloat16;
  kernels::Element moments = kernels::Element::kFloat32;
  bool split = false;  ///< the bf16 parameter is the upper half of the master
};

/// "bf16", "fp16", "fp32".
[[nodiscard]] const char* name_of(kernels::Element element);
/// "16,777,216 parameters, bf16 gradient, fp32 moments, split master".
[[nodiscard]] std::string text_of(const AdamPass& pass, std::size_t parameters);

/// Seconds of a pass over `parameters` by all threads. A value that is not finite afterwards is a
/// bug.
[[nodiscard]] std::vector<double> cpu_adam_seconds(const AdamPass& pass,
                                                   std::size_t parameters,
                                                   const Bench& bench);
/// The same on the GPU; kMissingFeature in a build without CUDA.
[[nodiscard]] std::vector<double> gpu_adam_seconds(const AdamPass& pass,
                                                   std::size_t parameters,
                                                   const Bench& bench);

}  // namespace elixir::measure
