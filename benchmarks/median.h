// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once

#include <algorithm>
#include <vector>

namespace elixir::benchmarks {

/// The median; the upper one of two in the middle. There must be one value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace elixir::benchmarks
