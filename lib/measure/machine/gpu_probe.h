// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What measurements ask of the GPU (device 0 unless said). A build without CUDA has the same
// functions: gpu_unavailable() gives the reason and the others throw kMissingFeature. Every timing
// is between events on the GPU, with everything queued before the first one is reached, so that
// launching is not in it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "measure/sampling.h"

namespace elixir::measure {

/// Why there is no GPU to measure; nullopt when there is one.
[[nodiscard]] std::optional<std::string> gpu_unavailable();

/// GPUs of this machine that this process may use; 0 without one.
[[nodiscard]] int gpu_count();

/// PCI addresses of those GPUs, as the driver's management library knows them.
[[nodiscard]] std::vector<std::string> gpu_bus_ids();

/// Creates the context and the matrix library's handle; `context_bytes` is what the process then
/// holds outside the caching allocator. Other processes on the GPU would be counted in.
[[nodiscard]] hardware::Gpu describe_gpu(int device);

using hardware::Direction;
using hardware::HostPages;

/// Seconds of copies of `bytes`; each sample is the mean of `copies` queued together.
[[nodiscard]] std::vector<double> gpu_copy_seconds(
    Direction direction, HostPages pages, std::size_t bytes, int copies, const Sampling& sampling);

/// Seconds in which `bytes` go up and `bytes` go down on two streams: from the common start to the
/// last end.
[[nodiscard]] std::vector<double> gpu_both_ways_seconds(std::size_t bytes,
                                                        const Sampling& sampling);

/// Seconds of the GPU work that `queue` puts on the current stream.
[[nodiscard]] std::vector<double> gpu_work_seconds(const std::function<void()>& queue,
                                                   const Sampling& sampling);

/// Seconds of `work` on the GPU, once: `prepare` is queued before the clock starts.
[[nodiscard]] double gpu_work_seconds_once(const std::function<void()>& prepare,
                                           const std::function<void()>& work);

/// Of the second-level cache of the current device.
[[nodiscard]] std::int64_t gpu_cache_bytes();

void gpu_synchronize();

/// LibTorch's CUDA allocator: allocated bytes now, and their peak since the last reset.
struct GpuAllocated {
  std::int64_t now_bytes = 0, peak_bytes = 0;
};
[[nodiscard]] GpuAllocated gpu_allocated();
void gpu_reset_peak();

}  // namespace elixir::measure
