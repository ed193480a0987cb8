// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Names that differ in numbers alone, as those of the layers of a model, so that a report can say
// of all of them at once what it would say of each.

#include <string>
#include <string_view>

namespace elixir::program {

/// The same for names that differ in numbers alone: parts between dots that are numbers do not
/// count. To compare only.
[[nodiscard]] std::string shape_of(std::string_view name);

/// Of two names of one shape: "h.0.mlp.2" and "h.1.mlp.2" -> "h.*.mlp.2"; may be one itself.
[[nodiscard]] std::string common_name(std::string_view a, std::string_view b);

}  // namespace elixir::program
