// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/line_fit.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace elixir::hardware {
namespace {

/// Number of pairs to try: as many as 200 points have.
constexpr std::size_t kMostPairs = 20'000;
/// Sizes within this factor do not determine a line.
constexpr double kLeastRange = 1.5;

std::vector<TimedBytes> close_to(const TransferLine& line,
                                 const std::vector<TimedBytes>& points,
                                 double tolerance) {
  std::vector<TimedBytes> close;
  for (const TimedBytes& point : points) {
    if (std::abs(line.seconds(point.bytes) / point.seconds - 1) <= tolerance) {
      close.push_back(point);
    }
  }
  return close;
}

/// nullopt when time does not grow with size, or when the latency is negative.
std::optional<TransferLine> line_between(const TimedBytes& a, const TimedBytes& b) {
  const double slope = (b.seconds - a.seconds) / (b.bytes - a.bytes);
  const double latency = a.seconds - slope * a.bytes;
  if (!(slope > 0) || !(latency >= 0)) return std::nullopt;
  return TransferLine{latency, 1 / slope, 0};
}

}  // namespace

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

std::optional<TransferLine> fit_line_that_holds(const std::vector<TimedBytes>& points) {
  const TransferLine line = fit_line(points);
  if (line.worst_relative_error > kWorstLineError) return std::nullopt;
  return line;
}

std::optional<TransferLine> fit_line_of_most(const std::vector<TimedBytes>& points,
                                             double tolerance,
                                             std::size_t least) {
  if (points.empty()) return std::nullopt;
  const std::size_t pairs = points.size() * (points.size() - 1) / 2;
  const std::size_t step = pairs / kMostPairs + 1;
  std::vector<TimedBytes> most;
  std::size_t number = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = i + 1; j < points.size(); ++j) {
      if (number++ % step != 0 || points[i].bytes == points[j].bytes) continue;
      const auto line = line_between(points[i], points[j]);
      if (!line) continue;
      std::vector<TimedBytes> close = close_to(*line, points, tolerance);
      if (close.size() > most.size()) most = std::move(close);
    }
  }
  if (most.size() < std::max<std::size_t>(2, least)) return std::nullopt;
  const auto [smallest, largest] = std::minmax_element(
      most.begin(), most.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (largest->bytes < kLeastRange * smallest->bytes) return std::nullopt;
  return fit_line(most);
}

}  // namespace elixir::hardware
