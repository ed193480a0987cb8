// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "hardware/sustained_clock.h"

#include <algorithm>
#include <string>

namespace elixir::hardware {

SustainedClock::SustainedClock(const std::vector<SustainedRate>& rates) {
  if (rates.empty()) return;
  const bool bf16 = std::any_of(
      rates.begin(), rates.end(), [](const SustainedRate& rate) { return rate.dtype == "bf16"; });
  const std::string dtype = bf16 ? "bf16" : rates.front().dtype;
  points_.push_back({});
  for (const SustainedRate& rate : rates) {
    if (rate.dtype != dtype) continue;
    points_.push_back({rate.duty, std::max(1.0, rate.slowdown.median)});
  }
  std::stable_sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return a.duty < b.duty;
  });
}

double SustainedClock::slowdown(double duty) const {
  if (points_.empty()) return 1;
  const auto above = std::find_if(
      points_.begin(), points_.end(), [&](const Point& point) { return point.duty >= duty; });
  if (above == points_.end()) return points_.back().slowdown;
  if (above == points_.begin()) return above->slowdown;
  const Point& below = *(above - 1);
  const double share = (duty - below.duty) / (above->duty - below.duty);
  return below.slowdown + share * (above->slowdown - below.slowdown);
}

}  // namespace elixir::hardware
