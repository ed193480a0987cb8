// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Whether a step fits on a GPU, by the best known figure, and the largest batch that fits.

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
  /// nullopt where the profile does not say. Process memory is measured at best: of the context and
  /// the libraries, nobody knows more.
  std::optional<program::Basis> basis;
  std::optional<std::int64_t> may_be_off_bytes;  ///< nullopt: nobody knows
};

/// Process memory if known, else reserved, else allocated memory. A limit applies to the process,
/// and each of these figures is at most the one before it.
[[nodiscard]] KnownPeak best_known_peak(const program::MemorySummary& memory);

struct LargestBatch {
  std::int64_t batch = 0;                  ///< 0: no batch that was tried fits
  std::int64_t bytes = 0;                  ///< peak of `batch`; of batch 1 when nothing fits
  std::optional<std::int64_t> next_bytes;  ///< peak of batch + 1; nullopt at `most`
  /// No batch above `ceiling` can fit, because what it allocates exceeds the limit. Of the batches
  /// above `batch` up to `ceiling`, `untried` were not tried. ceiling 0: `batch` is certainly the
  /// largest.
  std::int64_t ceiling = 0, untried = 0;
  std::int64_t captures = 0;  ///< number of calls of `peak_of`
};

struct BatchPeak {
  std::int64_t bytes = 0;  ///< must fit
  /// The part of it that never falls as the batch grows. It leaves out memory that is reserved but
  /// not allocated, which may go up or down.
  std::int64_t least_bytes = 0;
  std::optional<program::Basis> basis;           ///< as KnownPeak::basis
  std::optional<std::int64_t> may_be_off_bytes;  ///< as KnownPeak::may_be_off_bytes
};
/// From a profile: the best known peak, and the same with reserved memory equal to allocated
/// memory.
[[nodiscard]] BatchPeak batch_peak(const program::MemorySummary& memory);

/// Finds the largest batch up to `most` whose peak is at most `limit_bytes`. Starts at `first`,
/// doubles or halves, then bisects, so that the answer and the next batch have both been tried.
/// Because reserved memory may fall again after a jump, larger batches whose allocated memory fits
/// are tried too: all of them, or an even selection. No batch is tried twice.
[[nodiscard]] LargestBatch largest_batch(
    std::int64_t first,
    std::int64_t most,
    std::int64_t limit_bytes,
    const std::function<BatchPeak(std::int64_t batch)>& peak_of);

/// What the result does not claim: a line about larger batches that could fit but were not tried.
/// Empty when there are none.
[[nodiscard]] std::string claim_of(const LargestBatch& found);

}  // namespace elixir::memory
