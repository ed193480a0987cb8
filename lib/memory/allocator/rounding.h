// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How LibTorch 2.11's CUDA caching allocator rounds request sizes. The constants are LibTorch's
// (c10/core/AllocatorConfig.h).

#include <cstdint>

#include "core/allocation_unit.h"
#include "memory/allocator/config.h"

namespace elixir::memory {

inline constexpr std::int64_t kMinBlockBytes = kAllocationUnitBytes;
inline constexpr std::int64_t kMaxSmallBytes = 1_MiB;      ///< larger blocks: the large pool
inline constexpr std::int64_t kSmallSegmentBytes = 2_MiB;  ///< segments (pages) of the small pool
inline constexpr std::int64_t kMinLargeBytes = 10_MiB;     ///< from here on, one segment per block
inline constexpr std::int64_t kRoundLargeBytes =
    2_MiB;  ///< segments of one block are multiples of this

/// Size of the block that a request of `bytes` (> 0) needs.
[[nodiscard]] std::int64_t block_bytes(std::int64_t bytes, const AllocatorConfig& config);

/// Whether blocks of this (rounded) size come from the small pool.
[[nodiscard]] constexpr bool is_small(std::int64_t block_bytes) {
  return block_bytes <= kMaxSmallBytes;
}

/// Size of the segment to allocate on the device for a block of this (rounded) size.
[[nodiscard]] std::int64_t segment_bytes(std::int64_t block_bytes, const AllocatorConfig& config);

}  // namespace elixir::memory
