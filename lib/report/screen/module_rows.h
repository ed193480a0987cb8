// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A module tree cut to what matters, for a screen: the heaviest branches are opened first until the
// rows are used up, siblings that take the same are one row, the rest is counted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/analysis/module_memory.h"

namespace elixir::report {

struct ModuleRow {
  int depth = 0;
  /// "self_attn"; "0 … 95" for siblings alike ("0 … 2, 4" where another is between them),
  /// "model.decoder" for modules inside one another that have the same figures, "… 4 more" for the
  /// rest of a branch; "(model)" for the root.
  std::string label;
  std::int64_t alike = 1;  ///< modules that the row stands for; figures are those of one
  /// Of one module (`peak_bytes`: of the one with most); of all together in a "more" row.
  std::int64_t parameters_bytes = 0, activations_bytes = 0, peak_bytes = 0;
};

/// At most `limit` rows (>= 1), in the tree's order; weight is parameters plus activations.
[[nodiscard]] std::vector<ModuleRow> module_rows(const std::vector<memory::ModuleMemory>& tree,
                                                 std::size_t limit);

}  // namespace elixir::report
