// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds where an earlier run continues: at the newest valid checkpoint of its newest branch. The
// current plan and model must have the state of that checkpoint: the same names, dtypes and shapes.

#include <functional>
#include <optional>
#include <string>

#include "train/run/checkpoint.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// nullopt when the run has no checkpoint yet. Throws the errors of newest_checkpoint(),
/// kMachineTooSmall (the run used far more threads than there are CPUs now) and
/// kPlanOfAnotherProgram. Calls `warn` for newer checkpoints that are passed over, for another
/// program with the same state (another batch), and for a plan that draws other rows.
[[nodiscard]] std::optional<FoundCheckpoint> find_resume_point(
    const Directory& checkpoints,
    const RunIdentity& run,
    const RunInputs& inputs,
    const std::function<void(const std::string&)>& warn);

}  // namespace elixir::train
