// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The critical path of a step in a long run: the chain of tasks, from one of a step to the same one
// of a later step, that takes the longest for each step. Each task waits for the one before it,
// within a step or across its end. Steps get shorter only when a task of this chain does.

#include <array>
#include <span>

#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::schedule {

struct CriticalPath {
  std::array<double, kStreamCount> by_stream_ns{};
  /// The rest of the step, which no chain of tasks explains: the host was late, for example.
  /// Waiting for another rank is not in here: it is part of the tasks that exchange something.
  double idle_ns = 0;

  [[nodiscard]] double total_ns() const;
};

/// `times`, by task id, are of one step, simulated or measured; only how long each task took
/// counts. `step_ns` is that step's time, from the end of the one before to its own. Where tasks
/// ran one after another, in issue order, all of them are the path.
///
/// In the graph of tasks and what they wait for, where waiting for the step before counts as one
/// step, this is the cycle with the longest time for each step: the maximum cycle ratio (Dasdan,
/// Experimental analysis of the fastest optimum cycle ratio and mean algorithms, 2004). It is found
/// in a run of 32 steps, where all chains repeat themselves.
///
/// If `times` do not fit `schedule`, this is a bug (kInternal).
[[nodiscard]] CriticalPath critical_path(const Schedule& schedule,
                                         std::span<const TaskTime> times,
                                         double step_ns);

}  // namespace elixir::schedule
