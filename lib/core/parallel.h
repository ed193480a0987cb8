// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Independent pieces of work on the machine's cores. The caller puts the results together in the
// order of the pieces, so that they do not depend on the number of threads.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

namespace elixir {

/// Calls `work(i)` once for every i in [0, count), in any order and on several threads. Returns
/// when all have ended. When some throw, one of their exceptions is rethrown, and pieces that have
/// not begun are left out.
template <class Work>
void in_parallel(std::size_t count, const Work& work) {
  constexpr std::size_t kMostThreads = 8;
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t t = 1; t < std::min({count, cores, kMostThreads}); ++t) {
    // Without room for a thread, `deferred` does its part below.
    others.push_back(std::async(std::launch::async | std::launch::deferred, run));
  }
  run();
  for (std::future<void>& other : others) other.get();
}

}  // namespace elixir
