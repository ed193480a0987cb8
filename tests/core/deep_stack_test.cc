// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/deep_stack.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace elixir {
namespace {

/// Uses more than a KiB of stack at each level.
int depth_of(int levels) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(levels);
  return levels == 0 ? frame[0] : depth_of(levels - 1) + 1;
}

TEST(DeepStack, HoldsManyTimesAnOrdinaryStack) {
  constexpr int kLevels = 100'000;
  int depth = 0;
  run_on_deep_stack([&] { depth = depth_of(kLevels); });
  EXPECT_EQ(depth, kLevels);
}

TEST(DeepStack, PassesExceptionsOn) {
  EXPECT_THROW(run_on_deep_stack([] { throw std::out_of_range("here"); }), std::out_of_range);
}

}  // namespace
}  // namespace elixir
