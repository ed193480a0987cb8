// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What changed between two profiles, as text and as JSON.

#include <string>

#include "core/json.h"
#include "memory/analysis/comparison.h"

namespace elixir::report {

/// Totals, categories, and the modules and operators that changed most; changes are in bytes, to
/// the last one. Layers that changed alike are one row. `before` names the older profile.
[[nodiscard]] std::string comparison_screen(const memory::Comparison& comparison,
                                            const std::string& before);

/// Everything, every changed module and operator included.
[[nodiscard]] Json to_json(const memory::Comparison& comparison);

}  // namespace elixir::report
