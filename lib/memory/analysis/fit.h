// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether a step fits a GPU, in terms of the best figure known, and the largest batch that does.

#include <cstdint>
#include <functional>
#include <optional>
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
  std::int64_t batch = 0;                  ///< 0: not even one fits
  std::int64_t bytes = 0;                  ///< its peak; that of one when nothing fits
  std::optional<std::int64_t> next_bytes;  ///< peak of one more; nullopt at `most`
  std::int64_t captures = 0;               ///< how often `peak_bytes` was asked
};

/// The largest batch up to `most` whose peak is at most `limit_bytes`, where `peak_bytes` does not
/// fall as the batch grows. Asks for `first` first, doubles or halves from there, then closes in:
/// both the answer and the batch after it have been asked for.
[[nodiscard]] LargestBatch largest_batch(
    std::int64_t first,
    std::int64_t most,
    std::int64_t limit_bytes,
    const std::function<std::int64_t(std::int64_t batch)>& peak_bytes);

}  // namespace elixir::memory
