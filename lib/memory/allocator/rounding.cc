// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocator/rounding.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "core/allocation_unit.h"
#include "core/units.h"

namespace elixir::memory {
namespace {

std::int64_t divisions_for(std::int64_t bytes, const AllocatorConfig& config) {
  const auto mebibytes = static_cast<std::uint64_t>(bytes / 1_MiB);
  const std::size_t log2 =
      mebibytes == 0 ? 0 : static_cast<std::size_t>(std::bit_width(mebibytes)) - 1;
  return config.roundup_power2_divisions[std::min(log2, kDivisionIntervals - 1)];
}

/// Rounds up to the next of `divisions` equal steps between two powers of two. Powers of two stay.
std::int64_t round_to_division(std::int64_t bytes, std::int64_t divisions) {
  const auto floor = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
  if (floor == bytes) return bytes;
  return round_up(bytes, floor / divisions);
}

}  // namespace

std::int64_t block_bytes(std::int64_t bytes, const AllocatorConfig& config) {
  if (bytes < kMinBlockBytes) return kMinBlockBytes;
  const std::int64_t divisions = divisions_for(bytes, config);
  if (divisions > 1 && bytes / kMinBlockBytes >= divisions && bytes > kMinBlockBytes * divisions) {
    return round_to_division(bytes, divisions);
  }
  return rounded_allocation(bytes);
}

std::int64_t segment_bytes(std::int64_t block_bytes, const AllocatorConfig& config) {
  if (is_small(block_bytes)) return kSmallSegmentBytes;
  if (block_bytes < kMinLargeBytes) return config.large_segment_bytes;
  return round_up(block_bytes, kRoundLargeBytes);
}

}  // namespace elixir::memory
