// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One line on a screen for several things whose names differ only in numbers.

#include <string>
#include <string_view>

namespace elixir::report {

/// "h.0.mlp", "h.*.mlp (12 alike)"; on one line.
[[nodiscard]] std::string name_of_alike(std::string_view name, int count);

}  // namespace elixir::report
