// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "benchmarks/rate_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

namespace elixir::benchmarks {

void print_rates(const std::vector<NamedRate>& rates, nlohmann::json report, bool json) {
  std::size_t width = 0;
  for (const NamedRate& rate : rates) width = std::max(width, rate.name.size());
  report["rows"] = nlohmann::json::array();
  for (const NamedRate& rate : rates) {
    const double ratio = rate.bytes_per_s / rates.back().bytes_per_s;
    report["rows"].push_back(
        {{"name", rate.name}, {"bytes_per_s", rate.bytes_per_s}, {"ratio_to_all", ratio}});
    if (json) continue;
    fmt::print("{:<{}} {:8.1f} GB/s {:6.2f}\n", rate.name, width, rate.bytes_per_s / 1e9, ratio);
  }
  if (json) std::cout << report.dump(2) << '\n';
}

}  // namespace elixir::benchmarks
