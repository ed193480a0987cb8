// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Counts the labels of a step's calls, and what modelled calls hold at the peak.

#include <vector>

#include "memory/step/timeline.h"
#include "operators/scratch/call_script.h"
#include "program/certainty.h"
#include "program/program.h"

namespace elixir::memory {

/// `scripts` are those of the program's calls, in order; `timeline` is that of a step with them. An
/// update of torch.optim counts as one more call.
[[nodiscard]] program::Certainty certainty_of(const program::Program& program,
                                              const std::vector<operators::CallScript>& scripts,
                                              program::OptimizerUse use,
                                              const Timeline& timeline);

}  // namespace elixir::memory
