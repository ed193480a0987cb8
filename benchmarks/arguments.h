// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The arguments of benchmarks: `--name NUMBER`, in any order, and --json.

#include <map>
#include <string>
#include <vector>

namespace elixir::benchmarks {

/// Sets the numbers that `arguments` name; each must be at least 1. `json` becomes true where --json is
/// given. False, and some numbers may be set, when an argument is not understood.
[[nodiscard]] bool parse(const std::vector<std::string>& arguments,
                         const std::map<std::string, long*>& numbers,
                         bool& json);

}  // namespace elixir::benchmarks
