// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One AdamW pass of the runtime's kernels, timed: which arrays it has, and how long it takes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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
[[nodiscard]] std::string_view name_of(kernels::Element element);
/// Parameters for a figure that no cache helps: far beyond the caches, which grow with the cores;
/// virtual machines do not say how large they are.
[[nodiscard]] std::int64_t adam_parameters_wanted(const Bench& bench, DeviceKind device);
/// What a quarter of `memory_bytes` allows of that.
[[nodiscard]] std::int64_t adam_parameters(const Bench& bench,
                                           DeviceKind device,
                                           std::int64_t memory_bytes);

/// "16,777,216 parameters, bf16 gradient, fp32 moments, split master".
[[nodiscard]] std::string text_of(const AdamPass& pass, std::size_t parameters);

/// Parameters per second on a device, of all `ranks` together; errors of the two below.
[[nodiscard]] hardware::Figure adam_rate(const AdamPass& pass,
                                         DeviceKind device,
                                         std::int64_t parameters,
                                         const Bench& bench,
                                         int ranks = 1);

/// Seconds of a pass over `parameters` by all threads. With several ranks these are divided among
/// them, parameters and threads, and all begin together; it takes until the last ends. A value that
/// is not finite afterwards is a bug.
[[nodiscard]] std::vector<double> cpu_adam_seconds(const AdamPass& pass,
                                                   std::size_t parameters,
                                                   const Bench& bench,
                                                   int ranks = 1);
/// A pass on the GPU; kMissingFeature in a build without CUDA.
[[nodiscard]] std::vector<double> gpu_adam_seconds(const AdamPass& pass,
                                                   std::size_t parameters,
                                                   const Bench& bench);

}  // namespace elixir::measure
