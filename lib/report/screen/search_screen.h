// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What elixir-search says to people: a plan in plain words, the reason there is none, or one row
// for each of several budgets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/document.h"
#include "search/search.h"

namespace elixir::report {

/// What one micro-batch works through: tokens where an input of whole numbers has rows of several,
/// else samples (dimension 0 of the first input); nullopt without such an input.
struct StepWork {
  std::int64_t count = 0;
  std::string_view unit;  ///< "tokens" or "samples"
};
[[nodiscard]] std::optional<StepWork> work_of_micro_batch(const program::Program& program);

/// "63 of 97 chunks keep their parameters on the host, 71 their optimizer state", "everything stays
/// on the GPU".
[[nodiscard]] std::string homes_of(const plan::Plan& plan);

/// The plan with its memory, time and rivals. `profile` is what it was searched for; where its
/// process would fit with everything on the GPU and the plan moves chunks all the same, the screen
/// says why.
[[nodiscard]] std::string search_screen(const search::Found& found,
                                        const program::Profile& profile,
                                        double seconds);

/// Limit, shortfall, what cannot be moved, and what would help.
[[nodiscard]] std::string refusal_screen(const search::Infeasible& no);

struct BudgetAnswer {
  std::int64_t gpu_memory_bytes = 0;
  search::Outcome outcome;
};
/// A row for each budget, in the order given.
[[nodiscard]] std::string budgets_screen(const std::vector<BudgetAnswer>& answers,
                                         const program::Profile& profile);

}  // namespace elixir::report
