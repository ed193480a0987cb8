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
  // Five per cent of noise at every size: absolute least squares would see the largest size alone
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

TEST(LineFit, RefusesWhatIsNoLine) {
  EXPECT_THROW((void)fit_line({{4096, 1e-6}}), Error);
  EXPECT_THROW((void)fit_line({{4096, 1e-6}, {8192, 0}}), Error);
}

}  // namespace
}  // namespace elixir::hardware
