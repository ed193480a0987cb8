// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Rates side by side, for people or as JSON.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace elixir::benchmarks {

struct NamedRate {
  std::string name;
  double bytes_per_s = 0;
};

/// Prints each rate, and its ratio to the last one, which is that of all together. With `json` as
/// "rows" of `report`, which has what else there is.
void print_rates(const std::vector<NamedRate>& rates, nlohmann::json report, bool json);

}  // namespace elixir::benchmarks
