// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/host/spread_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/units.h"
#include "measure/adam/adam_chunks.h"
#include "measure/adam/rank_adam.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class SpreadMemoryTest : public testing::Test {
 protected:
  kernels::ThreadPool pool_{2};
  SpreadMemory memory_{64 * kMiB, pool_, nullptr};
};

TEST_F(SpreadMemoryTest, PiecesLieAStripeApart) {
  const SpreadMemory::Pieces pieces = memory_.take(8, kMiB);
  ASSERT_EQ(pieces.count(), 8U);
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(pieces[i] - pieces[i - 1], std::ptrdiff_t{8} << 20);
  const SpreadMemory::Pieces two = memory_.take(2, kMiB);
  EXPECT_EQ(two[1] - two[0], std::ptrdiff_t{32} << 20);
}

TEST_F(SpreadMemoryTest, PiecesOfSeveralUsersDoNotOverlap) {
  const SpreadMemory::Pieces first = memory_.take(8, 3 * kMiB), second = memory_.take(8, 5 * kMiB);
  for (std::size_t i = 0; i < 8; ++i) {
    std::memset(first[i], 1, 3 * kMiB);
    std::memset(second[i], 2, 5 * kMiB);
  }
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(first[i][0], 1);
    EXPECT_EQ(first[i][3 * kMiB - 1], 1);
    EXPECT_EQ(second[i][0], 2);
  }
}

TEST_F(SpreadMemoryTest, IsFreeAgainWhenTheLastUserIsGone) {
  {
    const SpreadMemory::Pieces first = memory_.take(8, 5 * kMiB);
    const SpreadMemory::Pieces second = memory_.take(1, 3 * kMiB);
    try {
      (void)memory_.take(1, 4096);
      FAIL() << "there is no room left";
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kOutOfMemory);
      EXPECT_THAT(error.info().message, testing::HasSubstr("may use 64.0 MiB of host memory"));
    }
  }
  EXPECT_EQ(memory_.take(8, 8 * kMiB).count(), 8U);
}

TEST_F(SpreadMemoryTest, IsAQuarterOfWhatMeasurementsMayUseWithinLimits) {
  EXPECT_EQ(spread_memory_bytes(16_GiB), static_cast<std::size_t>(4_GiB));
  EXPECT_EQ(spread_memory_bytes(2048_GiB), static_cast<std::size_t>(64_GiB));
  EXPECT_EQ(spread_memory_bytes(0), static_cast<std::size_t>(64_MiB));
}

TEST_F(SpreadMemoryTest, AdamChunksStayFiniteInEveryForm) {
  using kernels::Element;
  for (const AdamPass& pass :
       {AdamPass{.gradient = Element::kFloat32},
        AdamPass{.gradient = Element::kFloat16},
        AdamPass{.gradient = Element::kBFloat16, .split = true},
        AdamPass{.gradient = Element::kBFloat16, .moments = Element::kBFloat16, .split = true}}) {
    AdamChunks chunks(pass, 100'003, memory_, pool_);
    for (std::size_t i = 0; i < 3 * chunks.count(); ++i) chunks.begin_next();
    chunks.finish();
    EXPECT_NO_THROW(chunks.require_finite()) << text_of(pass, 100'003);
  }
}

TEST_F(SpreadMemoryTest, LargeChunksAreSeveralInAStripe) {
  constexpr std::size_t kParameters = 1'000'000, kMost = 50'000;
  AdamChunks chunks(
      {.gradient = kernels::Element::kBFloat16, .split = true}, kParameters, memory_, pool_, kMost);
  EXPECT_EQ(chunks.count(), 3 * SpreadMemory::kStripes);
  for (std::size_t i = 0; i < 2 * chunks.count(); ++i) chunks.begin_next();
  chunks.finish();
  EXPECT_NO_THROW(chunks.require_finite());
  const AdamChunks whole({.gradient = kernels::Element::kFloat32}, kParameters, memory_, pool_);
  EXPECT_EQ(whole.count(), SpreadMemory::kStripes);
}

TEST_F(SpreadMemoryTest, RanksDivideParametersAndThreads) {
  Bench bench;
  bench.pool = &pool_;
  bench.spread = &memory_;
  RankAdam::Pools alone = rank_pools(bench, 1), two = rank_pools(bench, 2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(alone.front()->threads(), pool_.threads());
  for (const auto& pool : two) EXPECT_EQ(pool->threads(), std::max(1, pool_.threads() / 2));
  const int threads = 2 * two.front()->threads();

  RankAdam ranks({.gradient = kernels::Element::kFloat32}, 100'003, memory_, std::move(two));
  EXPECT_EQ(ranks.threads(), threads);
  for (const auto& writes : hardware::kContendingAdam.entries) {
    ranks.write(writes.value);
    ranks.begin(3 * ranks.chunks());
  }
  ranks.finish();
  EXPECT_NO_THROW(ranks.require_finite());
}

TEST_F(SpreadMemoryTest, SeveralWorkAtOnceAsFarAsThereAreGpusAndThreads) {
  kernels::ThreadPool five(5);
  Bench bench;
  bench.pool = &five;
  EXPECT_EQ(bench.gpus_at_once(), std::vector<int>());
  bench.gpus = 7;
  EXPECT_EQ(bench.gpus_at_once(), std::vector<int>({2, 4}));
  bench.gpus = 8;
  EXPECT_EQ(bench.gpus_at_once(), std::vector<int>({2, 4, 8}));
  EXPECT_EQ(rank_counts(bench), std::vector<int>({2, 4}));
}

/// As the runtime does.
TEST_F(SpreadMemoryTest, RanksWithGpusLeaveACpuEachWhereTheyHaveEnough) {
  kernels::ThreadPool sixteen(16);
  Bench bench;
  bench.device = DeviceKind::kCuda;
  bench.pool = &sixteen;
  const auto threads_of = [&](int ranks) {
    std::vector<int> threads;
    for (const auto& pool : rank_pools(bench, ranks)) {
      EXPECT_EQ(pool->caller(), kernels::Caller::kGivesJobs);
      threads.push_back(pool->threads());
    }
    return threads;
  };
  EXPECT_EQ(threads_of(1), std::vector<int>({15}));
  EXPECT_EQ(threads_of(2), std::vector<int>({7, 7}));
  EXPECT_EQ(threads_of(4), std::vector<int>({4, 4, 4, 4}));
}

TEST_F(SpreadMemoryTest, PassesOverChunksFollowEachOther) {
  kernels::ThreadPool pool(2, kernels::Binding::kNone, 0, kernels::Caller::kGivesJobs);
  AdamChunks chunks({.gradient = kernels::Element::kFloat32}, 1'000'000, memory_, pool);
  ASSERT_GT(chunks.count(), 1) << "more than a stripe";
  const auto next_job = [&] { return pool.begin(1, 1, [](std::size_t, std::size_t) {}); };
  const std::uint64_t before = next_job();
  for (const auto& writes : hardware::kContendingAdam.entries) {
    chunks.write(writes.value);
    for (std::size_t i = 0; i < 3 * chunks.count(); ++i) chunks.begin_next();
  }
  chunks.finish();
  EXPECT_TRUE(pool.idle());
  EXPECT_EQ(next_job() - before, 9 * chunks.count() + 1) << "nine passes, a job for each chunk";
  EXPECT_NO_THROW(chunks.require_finite());
}

}  // namespace
}  // namespace elixir::measure
