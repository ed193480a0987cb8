// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Configuration of LibTorch 2.11's CUDA caching allocator, read from the text that LibTorch takes
// from PYTORCH_ALLOC_CONF (PYTORCH_CUDA_ALLOC_CONF): `option:value,option:value`, white space
// ignored. Stricter than LibTorch where its reader guesses: a number must be a number to its last
// character, and an option given twice is refused.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace elixir::memory {

/// Sizes from 1 MiB to 64 GiB, an interval for each power of two; smaller and larger ones belong to
/// the first and last.
inline constexpr std::size_t kDivisionIntervals = 16;

struct AllocatorConfig {
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  /// Size of a segment for requests between 1 and 10 MiB, and the page of large expandable ones.
  std::int64_t large_segment_bytes = 20_MiB;
  /// Blocks at least this large are never split.
  std::int64_t max_split_bytes = kUnlimited;
  /// How much larger than the request a block may be that is not split, when max_split_bytes is
  /// set. LibTorch resets it to the large segment's size.
  std::int64_t max_non_split_rounding_bytes = 20_MiB;
  /// Share of the allowed memory from which garbage is collected; 0: never. Has an effect only with
  /// a memory limit.
  double garbage_collection_threshold = 0;
  /// Steps between powers of two that requests are rounded up to; 0 and 1: multiples of 512 bytes.
  std::array<std::int64_t, kDivisionIntervals> roundup_power2_divisions{};
  bool expandable_segments = false;
  /// Share of the device's memory that may be reserved; 1: no limit.
  double per_process_memory_fraction = 1;
  /// Options that change no size, as given: `pinned_use_background_threads:True`.
  std::vector<std::string> ignored;

  bool operator==(const AllocatorConfig&) const = default;

  /// Empty text is the default. Throws kBadAllocatorConfig at `place` (a flag or a file) with the
  /// byte in `text` and what would be right; the backend cudaMallocAsync is refused, since it is
  /// another allocator.
  static AllocatorConfig parse(std::string_view text,
                               const std::string& place = "allocator configuration");

  /// The options that differ from LibTorch's defaults, in a fixed order, then the ignored ones;
  /// empty for the default. parse(text()) gives the same configuration.
  [[nodiscard]] std::string text() const;
};

}  // namespace elixir::memory
