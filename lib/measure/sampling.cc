// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/interrupt.h"
#include "measure/sample_log.h"

namespace elixir::measure {

namespace {

constexpr int kPatience = 2;

/// The `count` smallest values, in their order.
std::vector<double> fastest(const std::vector<double>& seconds, std::size_t count) {
  std::vector<std::size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return seconds[a] < seconds[b];
  });
  order.resize(std::min(count, order.size()));
  std::sort(order.begin(), order.end());
  std::vector<double> kept;
  kept.reserve(order.size());
  for (const std::size_t i : order) kept.push_back(seconds[i]);
  return kept;
}

/// Groups calls into batches, because one reading of the watch covers all calls since the last one.
class Batches {
 public:
  explicit Batches(CoreWatch& watch) : watch_(watch) { watch_.restart(); }

  void add(double seconds) {
    all_.push_back(seconds);
    spent_s_ += seconds;
    pending_.push_back(seconds);
    pending_s_ += seconds;
    if (pending_s_ >= watch_.period_s()) settle();
  }
  void settle() {
    if (pending_.empty()) return;
    if (!watch_.was_disturbed()) {
      undisturbed_.insert(undisturbed_.end(), pending_.begin(), pending_.end());
      undisturbed_s_ += pending_s_;
    }
    pending_.clear();
    pending_s_ = 0;
  }
  /// Whether there are enough calls. The current batch may still turn out to be disturbed.
  [[nodiscard]] bool enough(const Sampling& sampling) const {
    const auto count = static_cast<int>(undisturbed_.size() + pending_.size());
    return count >= sampling.least &&
           (count >= sampling.most || undisturbed_s_ + pending_s_ >= sampling.budget_s);
  }
  [[nodiscard]] bool hopeless(const Sampling& sampling) const {
    const auto count = static_cast<int>(all_.size());
    return count >= kPatience * sampling.least &&
           (count >= kPatience * sampling.most || spent_s_ >= kPatience * sampling.budget_s);
  }
  [[nodiscard]] const std::vector<double>& all() const { return all_; }
  [[nodiscard]] const std::vector<double>& undisturbed() const { return undisturbed_; }

 private:
  CoreWatch& watch_;
  std::vector<double> all_, undisturbed_, pending_;
  double spent_s_ = 0, undisturbed_s_ = 0, pending_s_ = 0;
};

}  // namespace

std::vector<double> sample(const Sampling& sampling, const std::function<double()>& once) {
  CoreWatch watch;
  return sample(sampling, once, watch);
}

std::vector<double> sample(const Sampling& sampling,
                           const std::function<double()>& once,
                           CoreWatch& watch) {
  for (int i = 0; i < sampling.warm_up; ++i) {
    throw_if_interrupted();
    (void)once();
  }
  Batches batches(watch);
  while (!batches.hopeless(sampling)) {
    if (batches.enough(sampling)) {
      batches.settle();
      if (batches.enough(sampling)) break;
    }
    throw_if_interrupted();
    batches.add(once());
  }
  batches.settle();
  const auto least = static_cast<std::size_t>(std::max(sampling.least, 1));
  if (batches.undisturbed().size() >= least) return batches.undisturbed();
  std::vector<double> kept = fastest(batches.all(), least);
  note_contention(kept);
  return kept;
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
  hardware::Figure figure = summarise(rates, std::move(method));
  figure.disturbed = were_contended(seconds);
  return figure;
}

hardware::Figure time_figure(const std::vector<double>& seconds, std::string method) {
  std::vector<double> ns;
  ns.reserve(seconds.size());
  for (const double s : seconds) ns.push_back(s * 1e9);
  hardware::Figure figure = summarise(ns, std::move(method));
  figure.disturbed = were_contended(seconds);
  return figure;
}

}  // namespace elixir::measure
