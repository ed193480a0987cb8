// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "benchmarks/arguments.h"

#include <cstddef>
#include <cstdlib>

namespace elixir::benchmarks {

bool parse(const std::vector<std::string>& arguments,
           const std::map<std::string, long*>& numbers,
           bool& json) {
  constexpr long kMost = 1L << 30;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--json") {
      json = true;
      continue;
    }
    const auto number = numbers.find(arguments[i]);
    if (number == numbers.end() || i + 1 == arguments.size()) return false;
    char* end = nullptr;
    *number->second = std::strtol(arguments[++i].c_str(), &end, 10);
    if (*end != '\0' || *number->second < 1 || *number->second > kMost) return false;
  }
  return true;
}

}  // namespace elixir::benchmarks
