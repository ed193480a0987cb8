// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "errors/squared_errors.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>

namespace elixir::errors {
namespace {

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double root_of_ratio(double fused, double eager) {
  if (eager > 0) return std::sqrt(fused / eager);
  return fused > 0 ? std::numeric_limits<double>::infinity() : 1.0;
}

void add_to(std::vector<double>& sums, const std::vector<double>& more) {
  sums.resize(more.size());
  std::transform(sums.begin(), sums.end(), more.begin(), sums.begin(), std::plus<>());
}

}  // namespace

void SquaredErrors::add(const SquaredErrors& other) {
  elements += other.elements;
  add_to(exact, other.exact);
  add_to(eager, other.eager);
  add_to(fused, other.fused);
}

double rms(const SquaredErrors& of, const std::vector<double>& sums) {
  const double count = static_cast<double>(of.elements) * static_cast<double>(sums.size());
  return count > 0 ? std::sqrt(sum_of(sums) / count) : 0.0;
}

Ratio ratio_of(const SquaredErrors& errors) {
  const double eager = sum_of(errors.eager), fused = sum_of(errors.fused);
  Ratio ratio{root_of_ratio(fused, eager)};
  const std::size_t batches = errors.eager.size();
  if (batches < 2) return ratio;
  std::vector<double> without;  // each batch in turn
  for (std::size_t i = 0; i < batches; ++i) {
    without.push_back(root_of_ratio(fused - errors.fused[i], eager - errors.eager[i]));
  }
  const auto count = static_cast<double>(batches);
  const double mean = sum_of(without) / count;
  double squares = 0;
  for (const double value : without) squares += (value - mean) * (value - mean);
  ratio.standard_error = std::sqrt(squares * (count - 1) / count);
  return ratio;
}

}  // namespace elixir::errors
