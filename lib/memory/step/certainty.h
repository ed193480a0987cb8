// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Counts the labels of a step's calls, and says what they rest on and what modelled calls hold at
// the peak. Whoever shows a label takes it from here.

#include <vector>

#include "memory/step/timeline.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/workspace_table.h"
#include "program/certainty.h"
#include "program/program.h"

namespace elixir::memory {

/// `scripts`: one for each of the program's calls, in order, made with `table`. `timeline`: of a
/// step with these scripts. An update of torch.optim counts as one more call.
[[nodiscard]] program::Certainty certainty_of(const program::Program& program,
                                              const std::vector<operators::CallScript>& scripts,
                                              program::OptimizerUse use,
                                              const operators::WorkspaceTable& table,
                                              const Timeline& timeline);

}  // namespace elixir::memory
