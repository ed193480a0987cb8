// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether a step fits a GPU, in terms of the best figure known, and the largest batch that does.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "program/document.h"

namespace elixir::memory {

enum class PeakKind : std::uint8_t { kAllocated, kReserved, kProcess };
/// "allocated", "reserved", "process".
[[nodiscard]] std::string_view name_of(PeakKind kind);

struct KnownPeak {
  PeakKind kind = PeakKind::kAllocated;
  std::int64_t bytes = 0;
};

/// Process memory when it is known, else reserved, else allocated: a limit holds for the process,
/// and each figure is at most the one before.
[[nodiscard]] KnownPeak best_known_peak(const program::MemorySummary& memory);

struct LargestBatch {
  std::int64_t batch = 0;                  ///< 0: none that was tried fits
  std::int64_t bytes = 0;                  ///< its peak; that of one when nothing fits
  std::optional<std::int64_t> next_bytes;  ///< peak of one more; nullopt at `most`
  /// No larger batch can fit, since more than the limit is allocated; `untried` of those above
  /// `batch` up to here were not asked for. 0: `batch` is the largest for certain.
  std::int64_t ceiling = 0, untried = 0;
  std::int64_t captures = 0;  ///< how often `peak_of` was asked
};

struct BatchPeak {
  std::int64_t bytes = 0;  ///< what has to fit
  /// The part of it that does not fall as the batch grows: without what the allocator holds beyond
  /// what is allocated, which jumps up and down.
  std::int64_t least_bytes = 0;
};
/// Of a profile: the best known peak, and the same with no more reserved than allocated.
[[nodiscard]] BatchPeak batch_peak(const program::MemorySummary& memory);

/// The largest batch found up to `most` whose peak is at most `limit_bytes`. Asks for `first`
/// first, doubles or halves from there, then closes in, so that answer and the batch after it have
/// been asked for. Reserved memory may fall again after a jump: larger batches that could fit by
/// what is allocated are tried too, all of them or evenly spread ones. Nothing is asked twice.
[[nodiscard]] LargestBatch largest_batch(
    std::int64_t first,
    std::int64_t most,
    std::int64_t limit_bytes,
    const std::function<BatchPeak(std::int64_t batch)>& peak_of);

/// What is not claimed: a line for the larger batches that could fit and were not tried, else
/// empty.
[[nodiscard]] std::string claim_of(const LargestBatch& found);

}  // namespace elixir::memory
