// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// elixir-profile's report as one self-contained HTML page. It uses no network (its content security
// policy forbids it) and no library, and follows the reader's light or dark setting. Charts and
// tables work without a script; the script adds values under the pointer. The same profile gives
// the same bytes. docs/memory-report.md explains every number.

#include <string>

#include "memory/step/training_step.h"
#include "program/document.h"
#include "search/recomputation_savings.h"

namespace elixir::report {

/// `step` and `savings` must be made from `profile`'s program and optimizer. The size of the page
/// is bounded for every program: tables group their tails, and the timeline has at most
/// MemoryChart::kMostBuckets steps.
[[nodiscard]] std::string profile_page(const program::Profile& profile,
                                       const memory::TrainingStep& step,
                                       const search::RecomputationSavings& savings);

}  // namespace elixir::report
