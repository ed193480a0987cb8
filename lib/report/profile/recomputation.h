// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What recomputation can save, as elixir-profile shows it: text, parts of the page, JSON. Times are
// modelled and say so.

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "program/program.h"
#include "report/profile/byte_unit.h"
#include "search/recomputation_savings.h"

namespace elixir::report {

/// One choice in words and figures.
struct RecomputationRow {
  std::string choice;  ///< "norms and elementwise"
  std::string saved;   ///< "-8.40"; "-" for none
  std::string time;    ///< "+2.1"; "-" for none; empty: no times are known
  std::string kept, peak;
};
/// Everything kept, then what saves something. Empty when nothing can be saved.
[[nodiscard]] std::vector<RecomputationRow> recomputation_rows(
    const search::RecomputationSavings& savings, const ByteUnit& unit);

/// What the rows rest on, one sentence each; or why there are none.
[[nodiscard]] std::vector<std::string> recomputation_notes(
    const search::RecomputationSavings& savings,
    const program::Target& target,
    const ByteUnit& unit);

/// Rows and notes for the screen.
[[nodiscard]] std::string recomputation_text(const search::RecomputationSavings& savings,
                                             const program::Target& target,
                                             const ByteUnit& unit);

/// The document's `recomputation`.
[[nodiscard]] Json to_json(const search::RecomputationSavings& savings);

}  // namespace elixir::report
