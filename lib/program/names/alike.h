// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares names that differ only in numbers, such as those of the layers of a model. A report uses
// it to print one line for all of them.

#include <string>
#include <string_view>

namespace elixir::program {

/// The name without its numeric parts (parts lie between dots). Two names have the same shape when
/// they differ only in numbers. Use it only to compare.
[[nodiscard]] std::string shape_of(std::string_view name);

/// The common pattern of two names of one shape: "h.0.mlp.2" and "h.1.mlp.2" give "h.*.mlp.2".
/// Either name may itself be a pattern.
[[nodiscard]] std::string common_name(std::string_view a, std::string_view b);

}  // namespace elixir::program
