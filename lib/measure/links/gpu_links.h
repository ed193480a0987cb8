// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Transfers of one GPU, and of several together, by the copy engines. A build without CUDA has the
// same functions; they throw kMissingFeature.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/thread_pool.h"
#include "measure/machine/gpu_probe.h"
#include "measure/sampling.h"

namespace elixir::measure {

/// A copy so small that its time is only the latency of the link.
inline constexpr std::size_t kLatencyBytes = 4096;

enum class Traffic { kUp, kDown, kBoth };

/// Seconds in which each of the first `gpus` GPUs moves `copies` times `bytes` in every direction
/// of `traffic`, from one common start to the end of the last copy of the last GPU. The first GPU
/// measures the time: the others wait for it to start, and it waits for them to end. Host memory is
/// pinned, on the NUMA node of its GPU. The data that arrives is checked.
[[nodiscard]] std::vector<double> gpu_group_copy_seconds(
    Traffic traffic, int gpus, std::size_t bytes, int copies, const Sampling& sampling);

/// Seconds of one copy of each of `sizes` (ascending).
[[nodiscard]] std::vector<std::vector<double>> gpu_copy_seconds_by_size(
    Direction direction,
    HostPages pages,
    const std::vector<std::int64_t>& sizes,
    const Sampling& sampling);

/// Whether `from` can access the memory of `to` without passing through the host.
[[nodiscard]] bool gpu_peer_access(int from, int to);
/// Lets `at` access the memory of `other`, if it can.
void enable_gpu_peer_access(int at, int other);
/// Seconds of a copy of `bytes` between two GPUs, as the mean of `copies` queued together.
[[nodiscard]] std::vector<double> gpu_peer_copy_seconds(
    int from, int to, std::size_t bytes, int copies, const Sampling& sampling);

/// Seconds until `bytes` of pinned memory from the runtime's allocator are ready.
[[nodiscard]] double plain_pinned_seconds(std::size_t bytes);
/// Same for an arena (kernels/host_arena.h) that the pool's threads touch. Throws kMissingFeature,
/// with the reason, when it cannot be pinned.
[[nodiscard]] double arena_pinned_seconds(std::size_t bytes, kernels::ThreadPool& pool);

}  // namespace elixir::measure
