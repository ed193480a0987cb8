// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Tests known values of the original Elixir.
#include "search/original_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/units.h"

namespace elixir::search::original {
namespace {

TEST(ElixirRules, MovesOfTheOriginalsTestVector) {
  EXPECT_EQ(moves({{0}, {1, 2}, {3}, {3}, {1, 2}, {0}}, 2), 12);
}

TEST(ElixirRules, MovesAreTwiceTheLoads) {
  EXPECT_EQ(moves({{0}, {1}, {2}, {2}, {1}, {0}}, 3), 6);   // everything stays: 3 loads
  EXPECT_EQ(moves({{0}, {1}, {2}, {2}, {1}, {0}}, 1), 10);  // 2 is used twice in a row: 5 loads
  EXPECT_EQ(moves({}, 1), 0);
}

TEST(ElixirRules, AStepWithMoreChunksThanBlocksHasNoMoves) {
  EXPECT_EQ(moves({{0}, {1, 2}}, 1), std::nullopt);
}

TEST(ElixirRules, PackingIsFirstFitInOrder) {
  EXPECT_THAT(assign_chunks({4, 3, 5, 2, 6}, 8), ::testing::ElementsAre(0, 0, 1, 1, 2));
  // 1 unused after 4+3, 1 after 5+2, 2 after 6.
  EXPECT_EQ(packing_waste({4, 3, 5, 2, 6}, 8), 4);
}

TEST(ElixirRules, ChunkSizesOfTiedGpt2Of4b) {
  // The largest public parameter is 3072 x 12288 in fp16, and there are 387 public parameters: from
  // 128 MiB in steps of 16 KiB, 16 Ki sizes.
  const Range range = chunk_sizes(3072LL * 12288, 387, 2);
  EXPECT_EQ(range.low * 2, 128_MiB);
  EXPECT_EQ(range.high * 2, 384_MiB);
  EXPECT_EQ(range.step * 2, 16_KiB);
  EXPECT_EQ((range.high - range.low) / range.step, 16 * 1024);
}

TEST(ElixirRules, ChunkSizesOfFewParametersGoByAKibibyte) {
  const Range range = chunk_sizes(1000, 8, 4);
  EXPECT_EQ(range.low * 4, 32_MiB);
  EXPECT_EQ(range.step * 4, 1024);
}

TEST(ElixirRules, ValuesOfFp16AdamOnA100s) {
  const double factor = optimizer_factor(2, 2);
  EXPECT_EQ(factor, 7.0);
  struct Row {
    int ranks;
    double block, optimizer;
  };
  for (const Row& row :
       {Row{1, .1905, .0907}, Row{2, .1074, .1177}, Row{4, .0576, .1551}, Row{8, .0299, .2148}}) {
    const Values got = values(a100_rates(row.ranks), row.ranks, factor, 2);
    EXPECT_NEAR(got.block * 1e9, row.block, 5e-5) << row.ranks;
    EXPECT_NEAR(got.optimizer * 1e9, row.optimizer, 5e-5) << row.ranks;
  }
}

TEST(ElixirRules, OptimizerFactorOfFp32AdamIsFour) {
  EXPECT_EQ(optimizer_factor(2, 4), 4.0);
}

TEST(ElixirRules, SmallModelsAreOneChunkInOneBlock) {
  const auto choice = choose_chunks({1000, 2000, 500}, {{0}, {1}, {2}}, 1 << 20, 4, 1, false);
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->chunk_size, 3500);
  EXPECT_EQ(choice->blocks, 1);
  EXPECT_FALSE(choose_chunks({1000, 2000, 500}, {{0}, {1}, {2}}, 3000, 4, 1, false));
}

/// The search without shortcuts: tries every size and counts moves from scratch.
std::optional<ChunkChoice> exhaustive(const std::vector<std::int64_t>& sizes,
                                      const std::vector<std::vector<std::int32_t>>& steps,
                                      std::int64_t capacity,
                                      std::int64_t element_bytes) {
  const std::int64_t largest = *std::max_element(sizes.begin(), sizes.end());
  const Range range = chunk_sizes(largest, static_cast<std::int64_t>(sizes.size()), element_bytes);
  const std::int64_t floored = capacity / range.step * range.step;
  std::optional<ChunkChoice> best;
  std::int64_t best_cost = 0;
  for (std::int64_t size = round_up(std::max(largest, range.low), range.step);
       size <= std::min(range.high, floored);
       size += range.step) {
    const auto chunk_of = assign_chunks(sizes, size);
    const std::int64_t blocks = std::min<std::int64_t>(floored / size, chunk_of.back() + 1);
    std::vector<std::vector<std::int32_t>> chunk_steps;
    for (const auto& step : steps) {
      std::vector<std::int32_t> chunks;
      for (const std::int32_t parameter : step) chunks.push_back(chunk_of[parameter]);
      std::sort(chunks.begin(), chunks.end());
      chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
      chunk_steps.push_back(chunks);
    }
    const auto count = blocks > 0 ? moves(chunk_steps, blocks) : std::nullopt;
    if (!count) continue;
    if (!best || *count * size < best_cost) {
      best = ChunkChoice{.chunk_size = size, .blocks = blocks};
      best_cost = *count * size;
    }
  }
  return best;
}

TEST(ElixirRules, ChunkChoiceEqualsAnExhaustiveOne) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::int64_t> sizes;
    std::vector<std::vector<std::int32_t>> steps;
    for (std::int32_t i = 0; i < 40; ++i) {
      sizes.push_back(256 * static_cast<std::int64_t>(1 + random() % 20'000));
      steps.push_back({i});
    }
    for (std::int32_t i = 40; i-- > 0;) steps.push_back({i});
    const std::int64_t capacity = 20'000'000 + static_cast<std::int64_t>(random() % 30'000'000);
    const auto got = choose_chunks(sizes, steps, capacity, 4, 1, false);
    const auto want = exhaustive(sizes, steps, capacity, 4);
    ASSERT_EQ(got.has_value(), want.has_value());
    if (!got) continue;
    EXPECT_EQ(got->chunk_size, want->chunk_size);
    EXPECT_EQ(got->blocks, want->blocks);
  }
}

TEST(ElixirRules, TooLittleRoomForOverlapEndsInsteadOfLoopingForever) {
  std::vector<std::int64_t> sizes(40, 2'000'000);
  std::vector<std::vector<std::int32_t>> steps;
  for (std::int32_t i = 0; i < 40; ++i) steps.push_back({i});
  // Two blocks fit, but overlap needs two.
  EXPECT_FALSE(choose_chunks(sizes, steps, 18'000'000, 4, 1, true));
  EXPECT_TRUE(choose_chunks(sizes, steps, 18'000'000, 4, 1, false));
}

}  // namespace
}  // namespace elixir::search::original
