// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/loss_scaler.h"

#include <gtest/gtest.h>

namespace elixir::runtime {
namespace {

TEST(LossScaler, GrowsAfterGoodStepsInARow) {
  LossScaler scaler({.initial = 8, .interval = 3});
  for (int step = 0; step < 2; ++step) scaler.made();
  EXPECT_EQ(scaler.state().scale, 8);
  scaler.skipped();
  EXPECT_EQ(scaler.state().scale, 4);
  for (int step = 0; step < 2; ++step) scaler.made();
  EXPECT_EQ(scaler.state().scale, 4);
  scaler.made();
  EXPECT_EQ(scaler.state(), (LossScaleState{.scale = 8, .skipped_steps = 1}));
}

TEST(LossScaler, BacksOffFromAsManyOverflowsOnAsTheHysteresis) {
  LossScaler scaler({.initial = 64, .interval = 2, .hysteresis = 2});
  scaler.skipped();
  EXPECT_EQ(scaler.state().scale, 64);
  scaler.skipped();
  EXPECT_EQ(scaler.state().scale, 32);
  scaler.skipped();
  EXPECT_EQ(scaler.state().scale, 16);
  for (int step = 0; step < 2; ++step) scaler.made();  // it grows, and is patient again
  EXPECT_EQ(scaler.state().scale, 32);
  scaler.skipped();
  EXPECT_EQ(scaler.state().scale, 32);
}

TEST(LossScaler, SkipsNothingAtItsMinimum) {
  LossScaler scaler({.initial = 4, .minimum = 3});
  EXPECT_TRUE(scaler.may_skip());
  scaler.skipped();
  EXPECT_EQ(scaler.state().scale, 3);
  EXPECT_FALSE(scaler.may_skip());
}

TEST(LossScaler, OfAFixedScaleStaysWhatItIs) {
  LossScaler scaler(LossScaleOptions::fixed(1024));
  EXPECT_FALSE(scaler.may_skip());
  for (int step = 0; step < 5000; ++step) scaler.made();
  EXPECT_EQ(scaler.state().scale, 1024);
}

TEST(LossScaler, StaysBelowWhatKernelsDivideBy) {
  LossScaler scaler({.initial = kLargestLossScale / 2, .growth = 16, .interval = 1});
  scaler.made();
  EXPECT_EQ(scaler.state().scale, kLargestLossScale);
}

TEST(LossScaler, GoesOnFromAState) {
  const LossScaleOptions options{.initial = 64, .interval = 3, .hysteresis = 2};
  LossScaler whole(options), first(options), second(options);
  const auto some = [](LossScaler& scaler) {
    scaler.made();
    scaler.made();
    scaler.skipped();
    scaler.made();
  };
  some(whole);
  some(whole);
  some(first);
  second.set_state(first.state());
  some(second);
  EXPECT_EQ(second.state(), whole.state());
}

}  // namespace
}  // namespace elixir::runtime
