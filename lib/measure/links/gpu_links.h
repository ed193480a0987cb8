// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Transfers of one GPU and of several together, by the copy engines. A build without CUDA has the
// same functions; they throw kMissingFeature there.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/thread_pool.h"
#include "measure/machine/gpu_probe.h"
#include "measure/sampling.h"

namespace elixir::measure {

/// A copy so small that it takes nothing but the latency of the link.
inline constexpr std::size_t kLatencyBytes = 4096;

enum class Traffic { kUp, kDown, kBoth };

/// Seconds in which each of the first `gpus` GPUs moves `copies` times `bytes` in every direction
/// of `traffic`: from one common start to the end of the last copy of the last GPU, measured on the
/// first GPU, which the others wait for and which waits for them. Host memory is pinned, on the
/// NUMA node of its GPU. What arrived is compared.
[[nodiscard]] std::vector<double> gpu_group_copy_seconds(
    Traffic traffic, int gpus, std::size_t bytes, int copies, const Sampling& sampling);

/// Seconds of one copy of each of `sizes` (ascending).
[[nodiscard]] std::vector<std::vector<double>> gpu_copy_seconds_by_size(
    Direction direction,
    HostPages pages,
    const std::vector<std::int64_t>& sizes,
    const Sampling& sampling);

/// Whether the memory of `to` can be reached from `from` without passing the host.
[[nodiscard]] bool gpu_peer_access(int from, int to);
/// Seconds of a copy of `bytes` from one GPU to another, the mean of `copies` queued together.
[[nodiscard]] std::vector<double> gpu_peer_copy_seconds(
    int from, int to, std::size_t bytes, int copies, const Sampling& sampling);

/// Seconds until `bytes` of pinned memory are ready: by the runtime's allocator.
[[nodiscard]] double plain_pinned_seconds(std::size_t bytes);
/// By an arena (kernels/host_arena.h) that the pool's threads touch. kMissingFeature when it cannot
/// be pinned, with the reason.
[[nodiscard]] double arena_pinned_seconds(std::size_t bytes, kernels::ThreadPool& pool);

}  // namespace elixir::measure
