// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/interrupt.h"
#include "measure/sample_log.h"

namespace elixir::measure {

std::vector<double> sample(const Sampling& sampling, const std::function<double()>& once) {
  for (int i = 0; i < sampling.warm_up; ++i) {
    throw_if_interrupted();
    (void)once();
  }
  std::vector<double> seconds;
  double spent = 0;
  while (static_cast<int>(seconds.size()) < sampling.least ||
         (static_cast<int>(seconds.size()) < sampling.most && spent < sampling.budget_s)) {
    throw_if_interrupted();
    seconds.push_back(once());
    spent += seconds.back();
  }
  return seconds;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  require(!values.empty(), "a quantile of no values");
  std::sort(values.begin(), values.end());
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

hardware::Figure summarise(const std::vector<double>& values, std::string method) {
  keep_samples(values, method);
  const double median = quantile(values, 0.5);
  const double range = quantile(values, 0.75) - quantile(values, 0.25);
  return {median,
          median > 0 ? range / median : 0.0,
          static_cast<std::int64_t>(values.size()),
          std::move(method)};
}

hardware::Figure rate_figure(double amount,
                             const std::vector<double>& seconds,
                             std::string method) {
  std::vector<double> rates;
  rates.reserve(seconds.size());
  for (const double s : seconds) rates.push_back(amount / s);
  return summarise(rates, std::move(method));
}

hardware::Figure time_figure(const std::vector<double>& seconds, std::string method) {
  std::vector<double> ns;
  ns.reserve(seconds.size());
  for (const double s : seconds) ns.push_back(s * 1e9);
  return summarise(ns, std::move(method));
}

}  // namespace elixir::measure
