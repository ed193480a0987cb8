// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/line_fit.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace elixir::hardware {

TransferLine fit_line(const std::vector<TimedBytes>& points) {
  require(points.size() >= 2, "a line through fewer than two points");
  // Weights 1/t^2: minimises sum ((a + b*x - t) / t)^2.
  double w = 0, wx = 0, wxx = 0, wt = 0, wxt = 0;
  for (const TimedBytes& point : points) {
    require(point.seconds > 0, "a transfer that took no time");
    const double weight = 1 / (point.seconds * point.seconds);
    w += weight;
    wx += weight * point.bytes;
    wxx += weight * point.bytes * point.bytes;
    wt += weight * point.seconds;
    wxt += weight * point.bytes * point.seconds;
  }
  const double determinant = w * wxx - wx * wx;
  double slope = determinant > 0 ? (w * wxt - wx * wt) / determinant : 0;
  double latency = determinant > 0 ? (wxx * wt - wx * wxt) / determinant : 0;
  if (latency < 0 || slope <= 0) {
    latency = 0;
    slope = wxt / wxx;
  }
  require(slope > 0, "transfer times that do not grow with their sizes");
  TransferLine line{latency, 1 / slope, 0};
  for (const TimedBytes& point : points) {
    line.worst_relative_error = std::max(line.worst_relative_error,
                                         std::abs(line.seconds(point.bytes) / point.seconds - 1));
  }
  return line;
}

}  // namespace elixir::hardware
