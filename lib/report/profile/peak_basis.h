// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How certain each peak is, in words: exact, measured or modelled. Screen and page say the same.

#include <string>

#include "memory/step/training_step.h"

namespace elixir::report {

/// "exact, workspaces included", "modelled: 12 of 40 calls hold …".
[[nodiscard]] std::string basis_of_allocated(const memory::TrainingStep& step);
/// "modelled: the simulated allocator's segments"; "not computed" where there are none.
[[nodiscard]] std::string basis_of_reserved(const program::MemorySummary& memory);
/// What the process's peak in `memory` includes, or why there is no peak of the process. `target`:
/// the step's.
[[nodiscard]] std::string basis_of_process(const program::MemorySummary& memory,
                                           const program::Target& target,
                                           const memory::TrainingStep& step);

}  // namespace elixir::report
