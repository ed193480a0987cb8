// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// GPU operations for measurements (device 0 unless stated otherwise). A build without CUDA has the
// same functions: gpu_unavailable() returns the reason, the others throw kMissingFeature.
//
// Every timing is between events on the GPU. All work is queued before the first event is reached,
// so launch time is not included.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "kernels/host_arena.h"
#include "measure/sampling.h"

namespace elixir::measure {

/// The reason why there is no GPU to measure; nullopt when there is one.
[[nodiscard]] std::optional<std::string> gpu_unavailable();

/// Number of GPUs that this process may use.
[[nodiscard]] int gpu_count();

/// How to lock host memory for them; null in a build without CUDA.
[[nodiscard]] const kernels::PageLock* gpu_page_lock();

/// PCI addresses of the GPUs, in the form that NVML uses.
[[nodiscard]] std::vector<std::string> gpu_bus_ids();

/// Memory of a GPU that is in use outside LibTorch's allocator.
[[nodiscard]] std::int64_t gpu_bytes_outside_allocator(int device);

/// Creates the context and the matrix library's handle. `context_bytes` is then the process's
/// memory outside the caching allocator. No other process may use the GPU, because its memory would
/// be counted.
[[nodiscard]] hardware::Gpu describe_gpu(int device);

using hardware::Direction;
using hardware::HostPages;

/// Seconds of a copy of `bytes`. Each sample is the mean of `copies` queued together.
[[nodiscard]] std::vector<double> gpu_copy_seconds(
    Direction direction, HostPages pages, std::size_t bytes, int copies, const Sampling& sampling);

/// Seconds to copy `bytes` up and `bytes` down on two streams, from the common start to the last
/// end.
[[nodiscard]] std::vector<double> gpu_both_ways_seconds(std::size_t bytes,
                                                        const Sampling& sampling);

/// Seconds of the GPU work that `queue` puts on the current stream.
[[nodiscard]] std::vector<double> gpu_work_seconds(const std::function<void()>& queue,
                                                   const Sampling& sampling);

/// Seconds of `work` on the GPU, once. `prepare` is queued before the clock starts.
[[nodiscard]] double gpu_work_seconds_once(const std::function<void()>& prepare,
                                           const std::function<void()>& work);

/// Size of the second-level cache of the current device.
[[nodiscard]] std::int64_t gpu_cache_bytes();

void gpu_synchronize();

/// LibTorch's CUDA allocator: bytes allocated now, and the peak since the last reset.
struct GpuAllocated {
  std::int64_t now_bytes = 0, peak_bytes = 0;
};
[[nodiscard]] GpuAllocated gpu_allocated();
void gpu_reset_peak();

}  // namespace elixir::measure
