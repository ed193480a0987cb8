// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/loads/belady.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/error.h"

namespace elixir::schedule {
namespace {

TEST(Belady, LoadsTheDesignsVectorSixTimes) {
  EXPECT_EQ(belady_loads({{0}, {1, 2}, {3}, {3}, {1, 2}, {0}}, 2).size(), 6U);
}

/// The fewest loads, found by trying every victim.
int fewest_loads(const std::vector<std::vector<std::int32_t>>& steps,
                 std::size_t t,
                 std::vector<std::int32_t> held,
                 std::size_t blocks) {
  if (t == steps.size()) return 0;
  for (const std::int32_t chunk : steps[t]) {
    if (std::find(held.begin(), held.end(), chunk) != held.end()) continue;
    if (held.size() < blocks) {
      held.push_back(chunk);
      return 1 + fewest_loads(steps, t, held, blocks);
    }
    int best = std::numeric_limits<int>::max();
    for (std::size_t b = 0; b < held.size(); ++b) {
      if (std::find(steps[t].begin(), steps[t].end(), held[b]) != steps[t].end()) continue;
      std::vector<std::int32_t> next = held;
      next[b] = chunk;
      best = std::min(best, 1 + fewest_loads(steps, t, next, blocks));
    }
    return best;
  }
  return fewest_loads(steps, t + 1, held, blocks);
}

TEST(Belady, LoadsAsFewChunksAsExhaustiveSearch) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t blocks = 2 + random() % 2;
    std::vector<std::vector<std::int32_t>> steps;
    for (int t = 0; t < 9; ++t) {
      std::vector<std::int32_t> step = {static_cast<std::int32_t>(random() % 5)};
      const auto other = static_cast<std::int32_t>(random() % 5);
      if (other != step[0]) step.push_back(other);
      steps.push_back(step);
    }
    EXPECT_EQ(static_cast<int>(belady_loads(steps, static_cast<std::int64_t>(blocks)).size()),
              fewest_loads(steps, 0, {}, blocks))
        << "round " << round;
  }
}

TEST(Belady, RefusesAStepThatNeedsMoreChunksThanBlocks) {
  EXPECT_THROW((void)belady_loads({{0, 1, 2}}, 2), Error);
}

}  // namespace
}  // namespace elixir::schedule
