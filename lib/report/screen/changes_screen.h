// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The differences between two profiles, as text and as JSON.

#include <string>

#include "core/json.h"
#include "memory/analysis/profile_changes.h"

namespace elixir::report {

/// Totals, categories, and the modules and operators that changed most. Changes are exact, in
/// bytes. Layers with equal changes are one row. `before` names the older profile.
[[nodiscard]] std::string changes_screen(const memory::ProfileChanges& changes,
                                         const std::string& before);

/// Everything, with every changed module and operator.
[[nodiscard]] Json to_json(const memory::ProfileChanges& changes);

}  // namespace elixir::report
