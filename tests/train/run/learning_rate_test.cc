// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/learning_rate.h"

#include <gtest/gtest.h>

namespace elixir::train {
namespace {

using Schedule = LearningRate::Schedule;

TEST(LearningRate, ConstantIsConstant) {
  const LearningRate rate{Schedule::kConstant, 0.5, 0, 10};
  for (int step = 1; step <= 20; ++step) EXPECT_EQ(rate.at(step), 0.5);
}

TEST(LearningRate, WarmUpRisesToTheBase) {
  const LearningRate rate{Schedule::kConstant, 1.0, 4, 10};
  EXPECT_EQ(rate.at(1), 0.25);
  EXPECT_EQ(rate.at(2), 0.5);
  EXPECT_EQ(rate.at(4), 1.0);
  EXPECT_EQ(rate.at(5), 1.0);
}

TEST(LearningRate, LinearFallsTowardsZeroAndTheLastStepStillLearns) {
  const LearningRate rate{Schedule::kLinear, 1.0, 2, 10};
  EXPECT_EQ(rate.at(3), 1.0);
  EXPECT_EQ(rate.at(7), 0.5);
  EXPECT_EQ(rate.at(10), 0.125);
  EXPECT_EQ(rate.at(11), 0.0);
  EXPECT_EQ(rate.at(50), 0.0);
}

TEST(LearningRate, CosineIsHalfInTheMiddle) {
  const LearningRate rate{Schedule::kCosine, 2.0, 0, 8};
  EXPECT_EQ(rate.at(1), 2.0);
  EXPECT_NEAR(rate.at(5), 1.0, 1e-15);
  EXPECT_GT(rate.at(8), 0.0);
}

TEST(LearningRate, WarmUpAsLongAsTheRunIsFine) {
  const LearningRate rate{Schedule::kCosine, 1.0, 5, 5};
  EXPECT_EQ(rate.at(5), 1.0);
}

TEST(LearningRate, NamesAreThoseOfTheFlag) {
  for (const auto each : {Schedule::kConstant, Schedule::kLinear, Schedule::kCosine}) {
    EXPECT_EQ(schedule_named(name_of(each)), each);
  }
  EXPECT_FALSE(schedule_named("cosinus").has_value());
}

}  // namespace
}  // namespace elixir::train
