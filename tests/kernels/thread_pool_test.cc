// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/thread_pool.h"

#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace elixir::kernels {
namespace {

TEST(ThreadPool, CoversEveryElementOnceInPartsThatEndOnTheGrain) {
  for (const int threads : {1, 2, 3, 4}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const std::size_t n : {0U, 1U, 7U, 64U, 65U, 1000U, 4097U}) {
      std::vector<std::atomic<int>> seen(n);
      pool.parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
        EXPECT_EQ(begin % 64, 0U);
        EXPECT_TRUE(end == n || end % 64 == 0);
        for (std::size_t i = begin; i < end; ++i) seen[i].fetch_add(1);
      });
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(seen[i].load(), 1) << i << " of " << n;
    }
  }
}

TEST(ThreadPool, GivesTheSameThreadTheSamePart) {
  ThreadPool pool(3);
  std::map<std::size_t, std::thread::id> owner;
  std::mutex mutex;
  for (int round = 0; round < 200; ++round) {
    pool.parallel_for(30, 1, [&](std::size_t begin, std::size_t) {
      const std::lock_guard lock(mutex);
      const auto found = owner.emplace(begin, std::this_thread::get_id()).first;
      EXPECT_EQ(found->second, std::this_thread::get_id());
    });
  }
  EXPECT_EQ(owner.size(), 3U);
}

TEST(ThreadPool, PassesExceptionsOnAndWorksAfterwards) {
  ThreadPool pool(2);
  const auto failing = [](std::size_t begin, std::size_t) {
    if (begin > 0) throw std::runtime_error("part failed");
  };
  EXPECT_THROW(pool.parallel_for(10, 1, failing), std::runtime_error);
  std::atomic<std::size_t> count{0};
  pool.parallel_for(10, 1, [&](std::size_t begin, std::size_t end) { count += end - begin; });
  EXPECT_EQ(count.load(), 10U);
}

TEST(ThreadPool, WakesUpAfterSleeping) {
  ThreadPool pool(2);
  std::atomic<std::size_t> count{0};
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pool.parallel_for(100, 1, [&](std::size_t begin, std::size_t end) { count += end - begin; });
  }
  EXPECT_EQ(count.load(), 300U);
}

}  // namespace
}  // namespace elixir::kernels
