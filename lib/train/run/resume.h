// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where an earlier run goes on: at its newest valid checkpoint, if the plan and the model of now are
// those that it was made with.

#include <functional>
#include <optional>
#include <string>

#include "train/run/checkpoint.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// nullopt when the run has no checkpoint yet. Besides newest_checkpoint()'s errors:
/// kMachineTooSmall (its threads are far more than there are CPUs), kPlanOfAnotherProgram. `warn` is
/// told of damaged checkpoints that are not used, and of a plan that draws other rows.
[[nodiscard]] std::optional<FoundCheckpoint> find_resume_point(
    const std::string& checkpoints_directory,
    const std::string& run_id,
    const RunInputs& inputs,
    const std::function<void(const std::string&)>& warn);

}  // namespace elixir::train
