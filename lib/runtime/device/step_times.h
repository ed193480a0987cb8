// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When the tasks of a step ran.

#include <vector>

#include "schedule/simulate.h"

namespace elixir::runtime {

struct StepTimes {
  /// By task id, from `begin_ns`. May be empty where they were not asked for (StepTasks).
  std::vector<schedule::TaskTime> tasks;
  double begin_ns = 0;  ///< by one clock for all steps: the compute stream could begin
  double end_ns = 0;    ///< by the same clock: the last task ended
};

}  // namespace elixir::runtime
