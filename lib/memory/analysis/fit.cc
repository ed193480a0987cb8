// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/fit.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

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
  std::optional<program::Basis> basis;
  program::MayBeOff off;
  if (memory.certainty) {
    basis = memory.certainty->basis();
    off = memory.certainty->may_be_off;
  }
  if (memory.process_peak_bytes) {
    if (basis) basis = std::max(*basis, program::Basis::kMeasured);
    return {PeakKind::kProcess, *memory.process_peak_bytes, basis, off.process_bytes};
  }
  if (memory.peak_reserved_bytes) {
    return {PeakKind::kReserved, *memory.peak_reserved_bytes, basis, off.reserved_bytes};
  }
  return {PeakKind::kAllocated, memory.peak_allocated_bytes, basis, off.allocated_bytes};
}

BatchPeak batch_peak(const program::MemorySummary& memory) {
  const KnownPeak peak = best_known_peak(memory);
  const std::int64_t held =
      memory.peak_reserved_bytes ? *memory.peak_reserved_bytes - memory.peak_allocated_bytes : 0;
  return {
      peak.bytes, peak.bytes - std::max<std::int64_t>(held, 0), peak.basis, peak.may_be_off_bytes};
}

namespace {

/// Number of batches to try between the first that does not fit and the last that could.
constexpr std::int64_t kTriedBeyond = 12;

class BatchSearch {
 public:
  using Figure = std::int64_t BatchPeak::*;

  BatchSearch(std::int64_t most,
              std::int64_t limit_bytes,
              const std::function<BatchPeak(std::int64_t)>& peak_of)
      : most_(most), limit_bytes_(limit_bytes), peak_of_(peak_of) {}

  LargestBatch run(std::int64_t first) {
    LargestBatch result;
    result.batch = crossing_from(first, &BatchPeak::bytes);
    result.ceiling = result.batch;
    if (result.batch < most_ && within(result.batch + 1, &BatchPeak::least_bytes)) {
      result.ceiling = ceiling_from(result.batch + 1);
      result.batch = beyond(result.batch, result.ceiling);
    }
    for (std::int64_t above = result.batch + 1; above <= result.ceiling; ++above) {
      if (asked_.count(above) == 0) ++result.untried;
    }
    result.bytes = peak(std::max<std::int64_t>(result.batch, 1)).bytes;
    if (result.batch >= 1 && result.batch < most_) result.next_bytes = peak(result.batch + 1).bytes;
    result.captures = static_cast<std::int64_t>(asked_.size());
    return result;
  }

 private:
  const BatchPeak& peak(std::int64_t batch) {
    const auto found = asked_.find(batch);
    return found != asked_.end() ? found->second
                                 : asked_.emplace(batch, peak_of_(batch)).first->second;
  }
  bool within(std::int64_t batch, Figure figure) { return peak(batch).*figure <= limit_bytes_; }

  /// Searches from `first` for the last batch whose figure is within the limit, while that of the
  /// next batch is not. 0 when batch 1 is not within the limit.
  std::int64_t crossing_from(std::int64_t first, Figure figure) {
    std::int64_t fits = 0;
    std::int64_t exceeds = most_ + 1;
    for (std::int64_t at = first;;) {
      (within(at, figure) ? fits : exceeds) = at;
      if (fits == most_ || exceeds == 1) return fits;
      if (fits != 0 && exceeds <= most_) return close_in(fits, exceeds, figure);
      at = fits != 0 ? (at > most_ / 2 ? most_ : at * 2) : at / 2;
    }
  }

  /// The last batch that could fit. `batch` itself could.
  std::int64_t ceiling_from(std::int64_t batch) {
    for (const auto& [larger, peak] : asked_) {
      if (larger > batch && peak.least_bytes > limit_bytes_) {
        return close_in(batch, larger, &BatchPeak::least_bytes);
      }
    }
    return crossing_from(batch, &BatchPeak::least_bytes);
  }

  /// Tries the likely crossing twice, then the middle once, and so on. This is fast where memory
  /// grows evenly, and never slower than a third of the speed of bisection.
  std::int64_t close_in(std::int64_t fits, std::int64_t exceeds, Figure figure) {
    for (int question = 0; exceeds - fits > 1; ++question) {
      const std::int64_t middle = fits + (exceeds - fits) / 2;
      const std::int64_t at = question % 3 == 2 ? middle : likely(fits, exceeds, figure);
      (within(at, figure) ? fits : exceeds) = at;
    }
    return fits;
  }

  /// The batch at which the limit is crossed if memory grows evenly, strictly between the two. A
  /// good next try, because most of a step's memory grows evenly.
  std::int64_t likely(std::int64_t fits, std::int64_t exceeds, Figure figure) {
    const std::int64_t low = peak(fits).*figure;
    const std::int64_t high = peak(exceeds).*figure;
    const double share = static_cast<double>(limit_bytes_ - low) /
                         static_cast<double>(std::max<std::int64_t>(high - low, 1));
    const auto guess =
        fits + static_cast<std::int64_t>(share * static_cast<double>(exceeds - fits));
    return std::clamp(guess, fits + 1, exceeds - 1);
  }

  /// Tries batches above `batch` + 1, which does not fit, up to `ceiling`, the largest first, until
  /// one fits. Of all batches tried, returns the last that fits before one that does not.
  std::int64_t beyond(std::int64_t batch, std::int64_t ceiling) {
    const std::int64_t candidates = ceiling - batch - 1;
    const std::int64_t tries = std::min(candidates, kTriedBeyond);
    for (std::int64_t i = 0; i < tries; ++i) {
      if (within(ceiling - i * candidates / tries, &BatchPeak::bytes)) break;
    }
    std::int64_t exceeds = most_ + 1;
    for (auto at = asked_.rbegin(); at != asked_.rend() && at->first > batch; ++at) {
      if (at->second.bytes > limit_bytes_) {
        exceeds = at->first;
      } else {
        const std::int64_t fits = at->first;
        return exceeds > most_ ? fits : close_in(fits, exceeds, &BatchPeak::bytes);
      }
    }
    return batch;
  }

  std::int64_t most_, limit_bytes_;
  const std::function<BatchPeak(std::int64_t)>& peak_of_;
  std::map<std::int64_t, BatchPeak> asked_;
};

}  // namespace

LargestBatch largest_batch(std::int64_t first,
                           std::int64_t most,
                           std::int64_t limit_bytes,
                           const std::function<BatchPeak(std::int64_t batch)>& peak_of) {
  require(first >= 1 && first <= most, "a search for the largest batch begins outside its bounds");
  return BatchSearch(most, limit_bytes, peak_of).run(first);
}

std::string claim_of(const LargestBatch& found) {
  if (found.untried == 0) return "";
  return fmt::format(
      "  a larger one may fit: reserved memory jumps with the batch; of {} to {}, {} were not "
      "tried\n",
      format_count(found.batch + 1),
      format_count(found.ceiling),
      format_count(found.untried));
}

}  // namespace elixir::memory
