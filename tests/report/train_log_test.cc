// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/train_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace elixir::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LoggedStep at(std::int64_t step, double step_ns = 500e6) {
  LoggedStep logged;
  logged.step = step;
  logged.loss = 2.5;
  logged.learning_rate = 3e-4;
  logged.gradient_norm = 1.25;
  logged.step_ns = step_ns;
  logged.peak_device_bytes = std::int64_t{3} << 30;
  return logged;
}

std::vector<std::int64_t> logged_steps(std::int64_t steps,
                                       std::optional<std::int64_t> every,
                                       double step_ns = 1e6) {
  TrainLog log({steps, every, std::nullopt, 1e9});
  std::vector<std::int64_t> logged;
  for (std::int64_t step = 1; step <= steps; ++step) {
    if (log.add(at(step, step_ns))) logged.push_back(step);
  }
  return logged;
}

TEST(TrainLog, ALineSaysEverythingInOneOrder) {
  TrainLog log({10, 5, 4096.0, 100e12});
  EXPECT_EQ(log.add(at(5)),
            "step 5/10  loss 2.5000  lr 0.0003  grad norm 1.25  500 ms  8,192 tokens/s  "
            "200.0 TFLOP/s  device peak 3.00 GiB");
}

TEST(TrainLog, WhatTheRunDoesNotHaveIsLeftOut) {
  TrainLog log({10, 5, std::nullopt, 1e9});
  LoggedStep step = at(5);
  step.gradient_norm.reset();
  EXPECT_EQ(log.add(step),
            "step 5/10  loss 2.5000  lr 0.0003  500 ms  2.0 GFLOP/s  device peak 3.00 GiB");
}

TEST(TrainLog, AHeldOutLossStandsInTheLineOfItsStepAlone) {
  TrainLog log({10, 3, std::nullopt, 0});
  LoggedStep step = at(4);
  step.held_out_loss = 2.25;
  EXPECT_THAT(log.add(step).value_or(""), HasSubstr("loss 2.5000  held-out 2.2500  lr"));
  EXPECT_THAT(log.add(at(6)).value_or(""), Not(HasSubstr("held-out")));
}

TEST(TrainLog, TimeAndSpeedAreMeansSinceTheLineBefore) {
  TrainLog log({10, 2, 1000.0, 1e12});
  EXPECT_FALSE(log.add(at(1, 100e6)));
  EXPECT_THAT(log.add(at(2, 300e6)).value_or(""), HasSubstr("200 ms  5,000 tokens/s  5.0 TFLOP/s"));
  EXPECT_FALSE(log.add(at(3, 1e6)));
  EXPECT_THAT(log.add(at(4, 3e6)).value_or(""), HasSubstr("2.00 ms"));
}

TEST(TrainLog, LinesComeAsOftenAsAsked) {
  EXPECT_THAT(logged_steps(7, 3), ElementsAre(3, 6, 7));
  EXPECT_THAT(logged_steps(7, 0), ElementsAre());
  EXPECT_THAT(logged_steps(4, 100), ElementsAre(4));
}

TEST(TrainLog, WithoutAWishThereAreSomeTwentyAndNoLongSilence) {
  EXPECT_THAT(logged_steps(3, std::nullopt), ElementsAre(1, 2, 3));
  EXPECT_EQ(logged_steps(1000, std::nullopt).size(), 21U) << "every 50, and the first";
  const std::vector<std::int64_t> slow = logged_steps(1000, std::nullopt, 10e9);
  for (std::size_t i = 1; i < slow.size(); ++i) {
    EXPECT_LE(slow[i] - slow[i - 1], 3) << "half a minute is three of these steps";
  }
  EXPECT_GT(slow.size(), 300U);
}

TEST(TrainLog, RatesHaveThreeDigitsOrMore) {
  EXPECT_EQ(format_rate(9192), "9,192");
  EXPECT_EQ(format_rate(12345), "12.3 k");
  EXPECT_EQ(format_rate(1.25e6), "1.25 M");
  EXPECT_EQ(format_flop_per_s(3.25e6), "3.2 MFLOP/s");
}

}  // namespace
}  // namespace elixir::report
