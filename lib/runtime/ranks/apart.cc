// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/ranks/apart.h"

#include <atomic>
#include <thread>
#include <utility>

namespace elixir::runtime {
namespace {

std::atomic<int> works{0};

}  // namespace

void run_apart(std::function<void()> work) {
  ++works;
  std::thread([work = std::move(work)]() mutable {
    work();
    work = nullptr;  // its own things end before this is no longer counted
    --works;
  }).detach();
}

bool works_apart() {
  return works > 0;
}

}  // namespace elixir::runtime
