// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace elixir {
namespace {

TEST(InParallel, DoesEveryPieceOnce) {
  for (const std::size_t count : {0, 1, 2, 1000}) {
    std::vector<int> done(count, 0);
    in_parallel(count, [&](std::size_t i) { ++done[i]; });
    EXPECT_EQ(done, std::vector<int>(count, 1));
  }
}

TEST(InParallel, RethrowsAndBeginsNothingMore) {
  constexpr std::size_t kCount = 1'000'000;
  std::atomic<std::size_t> begun{0};
  std::atomic<bool> thrown{false};
  const auto work = [&](std::size_t i) {
    ++begun;
    if (i == 3) {
      thrown = true;
      throw std::runtime_error("three");
    }
    if (i < 3) return;
    // However late the exception is caught, few pieces begin before that.
    while (!thrown) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  EXPECT_THROW(in_parallel(kCount, work), std::runtime_error);
  EXPECT_LT(begun, kCount);
}

TEST(InParallel, PiecesMayBeDividedAgain) {
  std::vector<std::vector<int>> done(3, std::vector<int>(100, 0));
  in_parallel(done.size(), [&](std::size_t i) {
    in_parallel(done[i].size(), [&](std::size_t j) { ++done[i][j]; });
  });
  EXPECT_EQ(done, std::vector(3, std::vector<int>(100, 1)));
  const auto throws = [](std::size_t i) {
    in_parallel(10, [&](std::size_t j) {
      if (i == 1 && j == 7) throw std::runtime_error("seven of one");
    });
  };
  EXPECT_THROW(in_parallel(3, throws), std::runtime_error);
}

}  // namespace
}  // namespace elixir
