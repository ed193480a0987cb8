// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The screen of elixir-search: a plan in plain words, the reason why there is none, or one row for
// each of several budgets.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/document.h"
#include "search/least_gpus.h"
#include "search/search.h"

namespace elixir::report {

/// The work of one micro-batch: tokens if an integer input has rows of several, otherwise samples
/// (dimension 0 of the first input). nullopt without an input.
struct StepWork {
  std::int64_t count = 0;
  std::string_view unit;  ///< "tokens" or "samples"
};
[[nodiscard]] std::optional<StepWork> work_of_micro_batch(const program::Program& program);

/// "63 of 97 chunks keep their parameters on the host, 71 their optimizer state", or "everything
/// stays on the GPU".
[[nodiscard]] std::string homes_of(const plan::Plan& plan);

/// "the loss makes no fp32 copy of its logits; products aligned: 3"; empty for arithmetic as-eager.
[[nodiscard]] std::string fusion_of(const plan::Plan& plan);
/// What a step averages its loss over; empty with one micro-batch.
[[nodiscard]] std::string average_of_plan(const plan::Plan& plan);

/// The plan with its memory, its time and the other candidates. `profile` must be the one that was
/// searched for. If the plan moves chunks although the whole process would fit on the GPU, the
/// screen says why.
[[nodiscard]] std::string search_screen(const search::Found& found,
                                        const program::Profile& profile,
                                        double seconds);

/// One line for each number of GPUs that is too small: what it lacks.
[[nodiscard]] std::string too_few_gpus_screen(const std::vector<search::TooFewGpus>& fewer);

/// The limit, the shortfall, what cannot be moved, and what would help.
[[nodiscard]] std::string refusal_screen(const search::Infeasible& no);

struct BudgetAnswer {
  std::int64_t gpu_memory_bytes = 0;
  search::Outcome outcome;
};
/// One row per budget, in the order given.
[[nodiscard]] std::string budgets_screen(const std::vector<BudgetAnswer>& answers,
                                         const program::Profile& profile);

}  // namespace elixir::report
