// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reduces a module tree to a few rows for a screen. Opens the heaviest branches first until the
// rows are used up. Siblings with equal figures share a row, and the rest is counted.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/analysis/module_memory.h"

namespace elixir::report {

struct ModuleRow {
  int depth = 0;
  /// "self_attn"; "0 … 95" for equal siblings ("0 … 2, 4" with a different one in between);
  /// "model.decoder" for nested modules with the same figures; "… 4 more" for the rest of a branch;
  /// "(model)" for the root.
  std::string label;
  std::int64_t alike = 1;  ///< number of modules in this row; the figures describe one
  /// Figures of one module (`peak_bytes`: of the module with the largest). In a "more" row: of all
  /// its modules together.
  std::int64_t parameters_bytes = 0, activations_bytes = 0, peak_bytes = 0;
};

/// At most `limit` rows (>= 1), in the tree's order. The weight is parameters plus activations.
[[nodiscard]] std::vector<ModuleRow> module_rows(const std::vector<memory::ModuleMemory>& tree,
                                                 std::size_t limit);

}  // namespace elixir::report
