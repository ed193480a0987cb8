// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/parameter_layout.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/micro_batch_seed.h"

namespace elixir::runtime {
namespace {

TEST(Glob, MatchesWholeNamesWithStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_glob("h.0.ln_1.bias", "*.bias"));
  EXPECT_TRUE(matches_glob("h.0.ln_1.bias", "h.?.ln_*.b*s"));
  EXPECT_TRUE(matches_glob("bias", "*bias"));
  EXPECT_TRUE(matches_glob("", "*"));
  EXPECT_TRUE(matches_glob("aab", "*ab"));
  EXPECT_TRUE(matches_glob("a*b", "a*b"));
}

TEST(Glob, DoesNotMatchPartsOfNames) {
  EXPECT_FALSE(matches_glob("h.0.ln_1.bias", "bias"));
  EXPECT_FALSE(matches_glob("h.0.ln_1.bias", "h.?"));
  EXPECT_FALSE(matches_glob("h.10.bias", "h.?.bias"));
  EXPECT_FALSE(matches_glob("", "?"));
  EXPECT_FALSE(matches_glob("abc", ""));
}

TEST(MicroBatchSeed, FollowsItsPublishedFormula) {
  // The first outputs of SplitMix64 from states 0 and 1 (Vigna's reference code).
  EXPECT_EQ(mix64(0), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(mix64(1), 0x910A2DEC89025CC1U);
  EXPECT_EQ(micro_batch_seed(7, 3, 2), mix64(mix64(mix64(7) ^ 3U) ^ 2U));
}

TEST(MicroBatchSeed, DiffersInTheLow32BitsThatTheCpuGeneratorUses) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::int64_t step = 1; step <= 50; ++step) {
      for (std::int64_t micro = 0; micro < 4; ++micro) {
        seen.insert(static_cast<std::uint32_t>(micro_batch_seed(seed, step, micro)));
      }
    }
  }
  EXPECT_EQ(seen.size(), 800U);
}

}  // namespace
}  // namespace elixir::runtime
