// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/line_fit.h"

#include <random>

#include <gtest/gtest.h>

#include "core/error.h"

namespace elixir::hardware {
namespace {

std::vector<TimedBytes> exact(double latency_s, double bytes_per_s) {
  std::vector<TimedBytes> points;
  for (double bytes = 4096; bytes <= 1 << 30; bytes *= 4) {
    points.push_back({bytes, latency_s + bytes / bytes_per_s});
  }
  return points;
}

TEST(LineFit, FindsTheLineThatMadeThePoints) {
  const TransferLine line = fit_line(exact(4e-6, 55e9));
  EXPECT_NEAR(line.latency_s, 4e-6, 1e-12);
  EXPECT_NEAR(line.bytes_per_s, 55e9, 55e9 * 1e-9);
  EXPECT_LT(line.worst_relative_error, 1e-9);
  EXPECT_DOUBLE_EQ(line.seconds(55e9), line.latency_s + 55e9 / line.bytes_per_s);
}

TEST(LineFit, WeighsEverySizeAlike) {
  // Five per cent of noise at every size. Absolute least squares would follow only the largest size
  // and lose the latency.
  std::mt19937 random(7);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  std::vector<TimedBytes> points = exact(4e-6, 55e9);
  for (TimedBytes& point : points) point.seconds *= noise(random);
  const TransferLine line = fit_line(points);
  EXPECT_NEAR(line.latency_s / 4e-6, 1, 0.08);
  EXPECT_NEAR(line.bytes_per_s / 55e9, 1, 0.08);
  EXPECT_LT(line.worst_relative_error, 0.12);
}

TEST(LineFit, HasNoNegativeLatency) {
  // Caches make small copies faster than the line.
  const TransferLine line = fit_line({{1e3, 1e-8}, {1e6, 1e-4}, {1e9, 1e-1}});
  EXPECT_EQ(line.latency_s, 0);
  EXPECT_GT(line.bytes_per_s, 0);
  EXPECT_GT(line.worst_relative_error, 0.5) << "and says how badly it holds";
}

TEST(LineFit, ThatDoesNotHoldIsNone) {
  // Measured on a busy machine: a copy rate of 118 GB/s, 89 % off.
  const std::vector<TimedBytes> busy = {
      {4096, 5e-8}, {65536, 6e-7}, {1 << 20, 9e-6}, {1 << 24, 1.3e-3}, {1 << 28, 2.1e-2}};
  EXPECT_GT(fit_line(busy).worst_relative_error, kWorstLineError);
  EXPECT_FALSE(fit_line_that_holds(busy));
  ASSERT_TRUE(fit_line_that_holds(exact(4e-6, 55e9)));
  EXPECT_NEAR(fit_line_that_holds(exact(4e-6, 55e9))->bytes_per_s, 55e9, 1);
}

TEST(LineFit, RefusesWhatIsNoLine) {
  EXPECT_THROW((void)fit_line({{4096, 1e-6}}), Error);
  EXPECT_THROW((void)fit_line({{4096, 1e-6}, {8192, 0}}), Error);
}

TEST(FitLineOfMost, IsNotMovedByPointsThatLieElsewhere) {
  std::vector<TimedBytes> points;
  for (const double bytes : {1e3, 3e3, 1e4, 4e4, 1e5, 2e6}) {
    points.push_back({bytes, 2e-6 + bytes / 5e9});
  }
  // Off by factors in both directions. Least squares of the relative error follows the points that
  // are too fast.
  points.push_back({1e8, 2e-6});
  points.push_back({1e6, 9e-3});
  points.push_back({2e3, 1e-4});
  const auto line = fit_line_of_most(points, 0.1, 4);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->latency_s, 2e-6, 1e-12);
  EXPECT_NEAR(line->bytes_per_s, 5e9, 1);
}

TEST(FitLineOfMost, IsNoneWithoutAgreement) {
  const std::vector<TimedBytes> apart = {{1e3, 1e-3}, {1e4, 5e-6}, {1e5, 4e-2}, {1e6, 1e-4}};
  EXPECT_FALSE(fit_line_of_most(apart, 0.1, 3));
  const std::vector<TimedBytes> alike = {{1000, 1.00e-6}, {1010, 1.01e-6}, {1020, 1.02e-6}};
  EXPECT_FALSE(fit_line_of_most(alike, 0.1, 3)) << "one size fixes no line";
  EXPECT_FALSE(fit_line_of_most({}, 0.1, 0));
  EXPECT_FALSE(fit_line_of_most({{1, 1}}, 0.1, 1));
}

TEST(FitLineOfMost, TriesAnEvenSelectionOfManyPairs) {
  std::vector<TimedBytes> points;
  constexpr int kPoints = 900;
  for (int i = 1; i <= kPoints; ++i) {
    const double bytes = 1e3 * i;
    points.push_back({bytes, i % 3 == 0 ? 1.0 : 1e-6 + bytes / 1e9});
  }
  const auto line = fit_line_of_most(points, 0.05, kPoints / 2);
  ASSERT_TRUE(line);
  EXPECT_NEAR(line->bytes_per_s, 1e9, 1);
}

}  // namespace
}  // namespace elixir::hardware
