// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/fit.h"

#include <algorithm>

#include "core/error.h"

namespace elixir::memory {

std::string_view name_of(PeakKind kind) {
  switch (kind) {
    case PeakKind::kAllocated:
      return "allocated";
    case PeakKind::kReserved:
      return "reserved";
    case PeakKind::kProcess:
      break;
  }
  return "process";
}

KnownPeak best_known_peak(const program::MemorySummary& memory) {
  if (memory.process_peak_bytes) return {PeakKind::kProcess, *memory.process_peak_bytes};
  if (memory.peak_reserved_bytes) return {PeakKind::kReserved, *memory.peak_reserved_bytes};
  return {PeakKind::kAllocated, memory.peak_allocated_bytes};
}

namespace {

struct Asked {
  std::int64_t batch = 0;
  std::int64_t bytes = 0;
};

/// Where between the two the limit is crossed if memory grows evenly: a good next question, since
/// most of a step's memory does. Strictly between them.
std::int64_t crossing(const Asked& fits, const Asked& exceeds, std::int64_t limit_bytes) {
  const auto span = static_cast<double>(exceeds.batch - fits.batch);
  const double share = static_cast<double>(limit_bytes - fits.bytes) /
                       static_cast<double>(std::max<std::int64_t>(exceeds.bytes - fits.bytes, 1));
  const auto guess = fits.batch + static_cast<std::int64_t>(share * span);
  return std::clamp(guess, fits.batch + 1, exceeds.batch - 1);
}

}  // namespace

LargestBatch largest_batch(std::int64_t first,
                           std::int64_t most,
                           std::int64_t limit_bytes,
                           const std::function<std::int64_t(std::int64_t batch)>& peak_bytes) {
  require(first >= 1 && first <= most, "a search for the largest batch begins outside its bounds");
  LargestBatch result;
  const auto ask = [&](std::int64_t batch) {
    ++result.captures;
    return Asked{batch, peak_bytes(batch)};
  };

  std::optional<Asked> fits;
  std::optional<Asked> exceeds;
  Asked at = ask(first);
  while (true) {
    (at.bytes <= limit_bytes ? fits : exceeds) = at;
    if (fits && exceeds) break;
    if (fits && at.batch == most) break;
    if (exceeds && at.batch == 1) break;
    at = ask(fits ? (at.batch > most / 2 ? most : at.batch * 2) : at.batch / 2);
  }
  // Two questions at the likely crossing, then one in the middle: fast where memory grows evenly,
  // and never slower than a third of bisection.
  for (int question = 0; fits && exceeds && exceeds->batch - fits->batch > 1; ++question) {
    const std::int64_t middle = fits->batch + (exceeds->batch - fits->batch) / 2;
    at = ask(question % 3 == 2 ? middle : crossing(*fits, *exceeds, limit_bytes));
    (at.bytes <= limit_bytes ? fits : exceeds) = at;
  }
  if (!fits) {
    result.bytes = exceeds->bytes;
    return result;
  }
  result.batch = fits->batch;
  result.bytes = fits->bytes;
  if (exceeds) result.next_bytes = exceeds->bytes;
  return result;
}

}  // namespace elixir::memory
