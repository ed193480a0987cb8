// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When the tasks of a step ran on each rank. It shows which rank the others wait for.

#include <vector>

#include "runtime/ranks/communicator.h"
#include "runtime/step_report.h"
#include "schedule/simulate.h"

namespace elixir::train {

/// A step whose tasks were timed, on one rank. Without one there are no tasks.
struct TimedStep {
  double step_ns = 0;
  /// By task id, from the end of the rank's own part of the compute stream in the step before.
  std::vector<schedule::TaskTime> tasks;

  /// Becomes the step of `report`, if its tasks were timed.
  void take(runtime::StepReport& report);
};

/// Every rank must call it, with as many tasks as the others. All of them, by rank. `control` is
/// nullptr where there is one rank.
[[nodiscard]] std::vector<TimedStep> gather_times(const TimedStep& own,
                                                  runtime::Communicator* control);

}  // namespace elixir::train
