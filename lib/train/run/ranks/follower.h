// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A rank other than 0: makes the calls that rank 0 makes of its trainer (led_trainer.h), with rows
// of its own. Of the run's files it writes only its own of each checkpoint.

#include <optional>

#include "train/run/ranks/rank_checkpoints.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// Returns when rank 0 has ended the run. Throws what its trainer throws, kRankLost when another
/// rank is gone. `joined`: the run directory, as soon as rank 0 has one. Its lock is the caller's,
/// so that it can be held while this rank ends.
void follow(const RunInputs& inputs, const RunOptions& options, std::optional<JoinedRun>& joined);

}  // namespace elixir::train
