// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/fit.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "core/error.h"

namespace elixir::memory {
namespace {

TEST(BestKnownPeak, IsTheOneClosestToTheProcess) {
  program::MemorySummary memory;
  memory.peak_allocated_bytes = 10;
  EXPECT_EQ(best_known_peak(memory).bytes, 10);
  EXPECT_EQ(name_of(best_known_peak(memory).kind), "allocated");
  memory.peak_reserved_bytes = 20;
  EXPECT_EQ(best_known_peak(memory).bytes, 20);
  EXPECT_EQ(name_of(best_known_peak(memory).kind), "reserved");
  memory.process_peak_bytes = 30;
  EXPECT_EQ(best_known_peak(memory).bytes, 30);
  EXPECT_EQ(name_of(best_known_peak(memory).kind), "process");
}

TEST(BestKnownPeak, HasTheLabelOfItsCallsAndOfAProcessIsMeasuredAtBest) {
  program::MemorySummary memory;
  memory.peak_allocated_bytes = 10;
  EXPECT_EQ(best_known_peak(memory).basis, std::nullopt);
  memory.certainty = program::Certainty{.exact_calls = 3};
  EXPECT_EQ(best_known_peak(memory).basis, program::Basis::kExact);
  EXPECT_EQ(batch_peak(memory).basis, program::Basis::kExact);
  memory.process_peak_bytes = 30;
  EXPECT_EQ(best_known_peak(memory).basis, program::Basis::kMeasured);
  memory.certainty->may_be_off = {.allocated_bytes = 1, .reserved_bytes = 2, .process_bytes = 3};
  EXPECT_EQ(best_known_peak(memory).may_be_off_bytes, 3);
  memory.certainty->modelled_calls = 1;
  EXPECT_EQ(best_known_peak(memory).basis, program::Basis::kModelled);
}

constexpr std::int64_t kMost = 1 << 20;

/// Memory without anything reserved beyond what is allocated.
BatchPeak even(std::int64_t bytes) {
  return {bytes, bytes};
}

TEST(LargestBatch, IsTheLastThatFits) {
  const auto linear = [](std::int64_t batch) { return even(1000 + 7 * batch); };
  const LargestBatch found = largest_batch(4, kMost, 1000 + 7 * 77 + 3, linear);
  EXPECT_EQ(found.batch, 77);
  EXPECT_EQ(found.bytes, 1000 + 7 * 77);
  EXPECT_EQ(found.next_bytes, 1000 + 7 * 78);
  EXPECT_LE(found.captures, 9);  // 4, 8, …, 128, then the crossing and its neighbour
}

TEST(LargestBatch, OfNothingThatFitsIsZero) {
  const LargestBatch found =
      largest_batch(16, kMost, 100, [](std::int64_t batch) { return even(100 + batch); });
  EXPECT_EQ(found.batch, 0);
  EXPECT_EQ(found.bytes, 101);
  EXPECT_FALSE(found.next_bytes.has_value());
}

TEST(LargestBatch, StopsAtTheMost) {
  const LargestBatch found = largest_batch(3, 50, 1, [](std::int64_t) { return even(0); });
  EXPECT_EQ(found.batch, 50);
  EXPECT_FALSE(found.next_bytes.has_value());
}

TEST(LargestBatch, RefusesAnImpossibleStart) {
  const auto any = [](std::int64_t) { return even(0); };
  EXPECT_THROW((void)largest_batch(0, 10, 1, any), Error);
  EXPECT_THROW((void)largest_batch(11, 10, 1, any), Error);
}

// Steps, plateaus and jumps, as from rounding and segments. The answer and the batch after it are
// tried, no batch is tried twice, and there are few tries.
TEST(LargestBatch, IsRightForEveryMonotoneMemory) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    const std::int64_t most = 1 + below(400);
    std::vector<std::int64_t> bytes(static_cast<std::size_t>(most) + 1, 0);
    for (std::size_t batch = 1; batch < bytes.size(); ++batch) {
      const std::int64_t step = below(4) == 0 ? 0 : below(30) == 0 ? below(100000) : below(300);
      bytes[batch] = bytes[batch - 1] + step;
    }
    const std::int64_t limit = below(static_cast<std::uint64_t>(bytes.back()) + 200);
    std::int64_t expected = most;
    while (expected > 0 && bytes[static_cast<std::size_t>(expected)] > limit) --expected;

    std::set<std::int64_t> asked;
    const LargestBatch found =
        largest_batch(1 + below(static_cast<std::uint64_t>(most)), most, limit, [&](auto batch) {
          EXPECT_TRUE(asked.insert(batch).second) << "asked twice";
          return even(bytes.at(static_cast<std::size_t>(batch)));
        });
    EXPECT_EQ(found.batch, expected);
    EXPECT_EQ(found.ceiling, expected);
    EXPECT_EQ(found.untried, 0);
    EXPECT_EQ(found.captures, static_cast<std::int64_t>(asked.size()));
    EXPECT_LE(asked.size(), 2U * 9U + 27U);
    if (expected >= 1) {
      EXPECT_EQ(asked.count(expected), 1U);
    }
    if (expected < most) {
      EXPECT_EQ(asked.count(expected + 1), 1U);
    }
  }
}

// The allocator's reserved memory jumps up at 7,481, falls at 7,560 and is high again from 7,700
// on. Bisection between 4,096 and 8,192 ends at 7,480.
TEST(LargestBatch, IsSoughtBeyondAJumpOfReservedMemory) {
  const auto peak = [](std::int64_t batch) {
    const std::int64_t held = batch > 7480 && (batch < 7560 || batch > 7700) ? 4000 : 100;
    return BatchPeak{10 * batch + held, 10 * batch};
  };
  const LargestBatch found = largest_batch(512, kMost, 76'105, peak);
  EXPECT_EQ(found.batch, 7600);
  EXPECT_EQ(found.ceiling, 7610);
  EXPECT_EQ(found.next_bytes, 76'110);
  EXPECT_LE(found.untried, 8) << claim_of(found);
  EXPECT_LE(found.captures, 40);
}

TEST(LargestBatch, SaysWhichLargerOnesWereNotTried) {
  const auto peak = [](std::int64_t batch) {
    return BatchPeak{10 * batch + (batch > 1000 ? 20'000 : 0), 10 * batch};
  };
  const LargestBatch found = largest_batch(1, kMost, 20'000, peak);
  EXPECT_EQ(found.batch, 1000);
  EXPECT_EQ(found.ceiling, 2000);
  EXPECT_GT(found.untried, 900);
  EXPECT_NE(claim_of(found).find("of 1,001 to 2,000, "), std::string::npos) << claim_of(found);
}

// For any reserved memory: the answer fits, no larger batch that was tried fits, and batches that
// were not tried are counted.
TEST(LargestBatch, ClaimsNoMoreThanItAskedFor) {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 1000; ++round) {
    const std::int64_t most = 1 + below(200);
    std::vector<BatchPeak> peaks(static_cast<std::size_t>(most) + 1);
    for (std::int64_t batch = 1; batch <= most; ++batch) {
      const std::int64_t held = below(3) == 0 ? below(3000) : below(100);
      peaks[static_cast<std::size_t>(batch)] = {100 * batch + held, 100 * batch};
    }
    const std::int64_t limit = below(static_cast<std::uint64_t>(100 * most) + 500);
    std::map<std::int64_t, bool> fits;
    const LargestBatch found =
        largest_batch(1 + below(static_cast<std::uint64_t>(most)), most, limit, [&](auto batch) {
          const BatchPeak& peak = peaks.at(static_cast<std::size_t>(batch));
          EXPECT_TRUE(fits.emplace(batch, peak.bytes <= limit).second) << "asked twice";
          return peak;
        });
    const std::int64_t ceiling = std::min(limit / 100, most);
    EXPECT_EQ(found.ceiling, std::max(ceiling, found.batch));
    EXPECT_TRUE(found.batch == 0 || fits.at(found.batch));
    std::int64_t untried = 0;
    for (std::int64_t batch = found.batch + 1; batch <= ceiling; ++batch) {
      const auto asked = fits.find(batch);
      if (asked == fits.end()) {
        ++untried;
      } else {
        EXPECT_FALSE(asked->second) << batch;
      }
    }
    EXPECT_EQ(found.untried, untried);
  }
}

}  // namespace
}  // namespace elixir::memory
