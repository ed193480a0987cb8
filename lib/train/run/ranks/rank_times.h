// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When the tasks of a step ran on each rank. It shows which rank the others wait for.

#include <vector>

#include "runtime/ranks/communicator.h"
#include "schedule/simulate.h"

namespace elixir::train {

/// By task id, from the end of the rank's own part of the compute stream in the step before. Empty
/// where no step was timed.
using TaskTimes = std::vector<schedule::TaskTime>;

/// Every rank must call it, with as many tasks as the others. All of them, by rank. `control` is
/// nullptr where there is one rank.
[[nodiscard]] std::vector<TaskTimes> gather_times(const TaskTimes& own,
                                                  runtime::Communicator* control);

}  // namespace elixir::train
