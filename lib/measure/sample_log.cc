// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/sample_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/json.h"
#include "measure/sampling.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kLeastForDrift = 8;

thread_local SampleScope* innermost = nullptr;

}  // namespace

SampleScope::SampleScope(std::string measurement)
    : measurement_(std::move(measurement)), outer_(innermost) {
  innermost = this;
}

SampleScope::~SampleScope() {
  innermost = outer_;
}

void keep_samples(const std::vector<double>& values, const std::string& method) {
  if (innermost == nullptr) return;
  innermost->series_.push_back({innermost->measurement_, method, values});
}

void note_contention(const std::vector<double>& samples) {
  if (innermost != nullptr) innermost->contended_.push_back(samples);
}

bool were_contended(const std::vector<double>& samples) {
  return innermost != nullptr &&
         std::find(innermost->contended_.begin(), innermost->contended_.end(), samples) !=
             innermost->contended_.end();
}

int contended_so_far() {
  return innermost == nullptr ? 0 : innermost->contended();
}

std::string contention_note(int contended, std::size_t series) {
  if (contended == 0) return {};
  return fmt::format(
      "other programs took the cores: {} of {} series count only their fastest samples, because "
      "too few were undisturbed",
      contended,
      std::max(series, static_cast<std::size_t>(contended)));
}

double drift(const std::vector<double>& values) {
  if (values.size() < kLeastForDrift) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  const double before = quantile({values.begin(), middle}, 0.5);
  const double after = quantile({middle, values.end()}, 0.5);
  return before > 0 ? after / before - 1 : 0;
}

std::string drift_note(const std::vector<SampleSeries>& series, double limit) {
  const SampleSeries* worst = nullptr;
  double most = 0;
  for (const SampleSeries& one : series) {
    const double change = drift(one.values);
    if (std::abs(change) > std::abs(most)) {
      most = change;
      worst = &one;
    }
  }
  if (worst == nullptr || std::abs(most) <= limit) return {};
  return fmt::format(
      "the second half of the samples differs from the first by {:+.0f} % ({}): the clocks changed "
      "or something else ran",
      most * 100,
      worst->method);
}

std::string json_lines(const std::vector<SampleSeries>& series) {
  std::string text;
  for (const SampleSeries& one : series) {
    const Json line = {
        {"measurement", one.measurement}, {"method", one.method}, {"values", one.values}};
    text += line.dump(-1, ' ', false, Json::error_handler_t::replace);
    text += '\n';
  }
  return text;
}

}  // namespace elixir::measure
