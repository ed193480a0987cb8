// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How much slower a GPU works when it is busy with matrix products for a large part of the time:
// power and heat lower its clock. Calls are measured one by one, at the full clock.

#include <vector>

#include "hardware/hardware_profile.h"

namespace elixir::hardware {

class SustainedClock {
 public:
  /// Without any rate, nothing slows down.
  SustainedClock() = default;
  /// Takes the rates of bf16, or of the first dtype that there is.
  explicit SustainedClock(const std::vector<SustainedRate>& rates);
  /// How much longer products take, at least 1, when products fill the share `duty` of the time.
  /// Between measured shares by a line; below the smallest by a line to 1 at no work at all.
  [[nodiscard]] double slowdown(double duty) const;

 private:
  struct Point {
    double duty = 0, slowdown = 1;
  };
  std::vector<Point> points_;  ///< ascending, from {0, 1} on; empty without rates
};

}  // namespace elixir::hardware
