// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Times one AdamW pass of the runtime's kernels.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adam.h"
#include "measure/measurement.h"

namespace elixir::measure {

/// The arrays of a pass. The parameter has the gradient's dtype; with fp32 it is the master.
struct AdamPass {
  kernels::Element gradient = kernels::Element::kBFloat16;
  kernels::Element moments = kernels::Element::kFloat32;
  bool split = false;  ///< the bf16 parameter is the upper half of the master
  hardware::AdamWrites writes = hardware::AdamWrites::kAll;  ///< on the CPU alone: in part
};

/// "bf16", "fp16", "fp32".
[[nodiscard]] std::string_view name_of(kernels::Element element);
/// The number of parameters of a pass for a figure without help from caches. It is far beyond the
/// caches, which grow with the cores, because virtual machines do not report their size.
[[nodiscard]] std::int64_t adam_parameters_wanted(const Bench& bench, DeviceKind device);
/// The same, and on the CPU beside GPUs 1 Gi at least; limited to a quarter of a GPU's
/// `memory_bytes`, or to half of the spread memory.
[[nodiscard]] std::int64_t adam_parameters(const Bench& bench,
                                           DeviceKind device,
                                           std::int64_t memory_bytes);

/// 2, 4, 8 … ranks, as long as there are as many GPUs and threads.
[[nodiscard]] std::vector<int> rank_counts(const Bench& bench);

/// "16,777,216 parameters, bf16 gradient, fp32 moments, split master".
[[nodiscard]] std::string text_of(const AdamPass& pass, std::size_t parameters);

/// Parameters per second on a device, over all `ranks` together. Throws the errors of the two
/// functions below.
[[nodiscard]] hardware::Figure adam_rate(const AdamPass& pass,
                                         DeviceKind device,
                                         std::int64_t parameters,
                                         const Bench& bench,
                                         int ranks = 1);

struct AdamTimes {
  std::vector<double> seconds;
  std::string how;  ///< "60 threads shared by 4 at once, wall clock of 4 passes"
};
/// Times of a pass over `parameters` on the CPU, by samples of much work in a row, as in a
/// training: several passes, or a part of one. Large passes go over several chunks, far apart in
/// the host's memory. Several ranks divide parameters and threads among them (rank_adam.h); the
/// time ends with the last rank. A result that is not finite is a bug.
[[nodiscard]] AdamTimes cpu_adam_times(const AdamPass& pass,
                                       std::size_t parameters,
                                       const Bench& bench,
                                       int ranks = 1);
/// Seconds of a pass on the GPU. Throws kMissingFeature in a build without CUDA.
[[nodiscard]] std::vector<double> gpu_adam_seconds(const AdamPass& pass,
                                                   std::size_t parameters,
                                                   const Bench& bench);

}  // namespace elixir::measure
