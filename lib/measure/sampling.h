// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// From repeated timings to a figure: median, spread (third minus first quartile over the median)
// and sample count.

#include <functional>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "measure/machine/core_watch.h"

namespace elixir::measure {

/// How often something is repeated: `warm_up` calls that do not count, then at least `least` and at
/// most `most`, until `budget_s` seconds are spent.
struct Sampling {
  int warm_up = 2;
  int least = 5;
  int most = 50;
  double budget_s = 0.5;
};

/// Seconds of each counted call; `once` returns its own seconds. Calls during which a thread of
/// ours waited for a core are dropped and made again, for twice the budget at most; when even
/// then fewer than `least` are left, the fastest of all calls are returned, and the SampleScope
/// knows (sample_log.h). Leaves by Interrupted when asked to stop.
[[nodiscard]] std::vector<double> sample(const Sampling& sampling,
                                         const std::function<double()>& once);
[[nodiscard]] std::vector<double> sample(const Sampling& sampling,
                                         const std::function<double()>& once,
                                         CoreWatch& watch);

/// Wall clock seconds of `work`.
[[nodiscard]] double seconds_of(const std::function<void()>& work);

/// Quantile by linear interpolation between the sorted values.
[[nodiscard]] double quantile(std::vector<double> values, double q);

[[nodiscard]] hardware::Figure summarise(const std::vector<double>& values, std::string method);
/// `amount` per second of each sample.
[[nodiscard]] hardware::Figure rate_figure(double amount,
                                           const std::vector<double>& seconds,
                                           std::string method);
/// Nanoseconds of each sample.
[[nodiscard]] hardware::Figure time_figure(const std::vector<double>& seconds, std::string method);

}  // namespace elixir::measure
