// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How certain a figure is, in words: exact, measured or modelled.

#include <string>

#include "memory/step/training_step.h"

namespace elixir::report {

/// "exact", "exact but for 12 estimated calls", …
[[nodiscard]] std::string basis_of_allocated(const memory::TrainingStep& step);
/// What the process's peak in `memory` includes, or why there is no such peak.
[[nodiscard]] std::string basis_of_process(const program::MemorySummary& memory,
                                           const memory::TrainingStep& step);

}  // namespace elixir::report
