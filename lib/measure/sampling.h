// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Turns repeated timings into a figure: median, spread (third minus first quartile, over the
// median) and sample count.

#include <functional>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "measure/machine/core_watch.h"

namespace elixir::measure {

/// How often to repeat: `warm_up` calls that do not count, then at least `least` and at most `most`
/// calls, until `budget_s` seconds are spent.
struct Sampling {
  int warm_up = 2;
  int least = 5;
  int most = 50;
  double budget_s = 0.5;
};

/// The seconds of each counted call; `once` returns its own seconds. If one of our threads had to
/// wait for a core during a call, that call is dropped and repeated, for at most twice the budget.
/// If fewer than `least` calls remain, returns the fastest of all calls and notes it in the
/// SampleScope (sample_log.h). Throws Interrupted when asked to stop.
[[nodiscard]] std::vector<double> sample(const Sampling& sampling,
                                         const std::function<double()>& once);
[[nodiscard]] std::vector<double> sample(const Sampling& sampling,
                                         const std::function<double()>& once,
                                         CoreWatch& watch);

/// Wall-clock seconds of `work`.
[[nodiscard]] double seconds_of(const std::function<void()>& work);

/// A quantile, by linear interpolation between the sorted values.
[[nodiscard]] double quantile(std::vector<double> values, double q);

[[nodiscard]] hardware::Figure summarise(const std::vector<double>& values, std::string method);
/// A figure of `amount` per second, from each sample's seconds.
[[nodiscard]] hardware::Figure rate_figure(double amount,
                                           const std::vector<double>& seconds,
                                           std::string method);
/// A figure in nanoseconds.
[[nodiscard]] hardware::Figure time_figure(const std::vector<double>& seconds, std::string method);

}  // namespace elixir::measure
