// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Configuration of LibTorch 2.11's CUDA caching allocator. The text format is that of
// PYTORCH_ALLOC_CONF (PYTORCH_CUDA_ALLOC_CONF): `option:value,option:value`, white space ignored.
// Stricter than LibTorch, whose reader guesses: a number must be a number to its last character,
// and an option given twice is refused.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace elixir::memory {

/// One interval for each power of two from 1 MiB to 64 GiB. Smaller sizes belong to the first
/// interval, larger sizes to the last.
inline constexpr std::size_t kDivisionIntervals = 16;

struct AllocatorConfig {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  /// Segment size for requests between 1 and 10 MiB. Also the page size of large expandable
  /// segments.
  std::int64_t large_segment_bytes = 20_MiB;
  /// Blocks at least this large are never split.
  std::int64_t max_split_bytes = kUnlimited;
  /// With max_split_bytes: an unsplit block may exceed the request by this much. LibTorch resets it
  /// to the large segment's size.
  std::int64_t max_non_split_rounding_bytes = 20_MiB;
  /// Garbage collection starts at this share of the allowed memory; 0: never. Needs a memory limit
  /// to have an effect.
  double garbage_collection_threshold = 0;
  /// Requests are rounded up to this many steps between powers of two. 0 and 1: to multiples of 512
  /// bytes.
  std::array<std::int64_t, kDivisionIntervals> roundup_power2_divisions{};
  bool expandable_segments = false;
  /// Share of the device's memory that may be reserved; 1: no limit.
  double per_process_memory_fraction = 1;
  /// Options without an effect on sizes, as given: `pinned_use_background_threads:True`.
  std::vector<std::string> ignored;

  bool operator==(const AllocatorConfig&) const = default;

  /// Parses the text; empty text gives the default. Throws kBadAllocatorConfig at `place` (a flag
  /// or a file) with the byte in `text` and what is right. Refuses the backend cudaMallocAsync,
  /// because it is another allocator.
  static AllocatorConfig parse(std::string_view text,
                               const std::string& place = "allocator configuration");

  /// The options that differ from LibTorch's defaults, in a fixed order, then the ignored ones.
  /// Empty for the default. parse(text()) gives the same configuration.
  [[nodiscard]] std::string text() const;
};

}  // namespace elixir::memory
