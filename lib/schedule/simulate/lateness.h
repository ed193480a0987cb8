// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How much later than they could the tasks of a measured step began. In a simulated step every task
// begins as soon as it can, so what is late is what no prediction knows.

#include <array>
#include <span>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::schedule {

/// By task id: the time from the end of all that the task waits for, the task before it on its
/// stream included, to its begin. `times`, by task id, are of one step of `step_ns`; the step
/// before is taken to have gone the same way. Where tasks ran one after another, all are of one
/// stream.
///
/// If `times` do not fit `schedule`, this is a bug (kInternal).
[[nodiscard]] std::vector<double> lateness_ns(const Schedule& schedule,
                                              std::span<const TaskTime> times,
                                              double step_ns);

/// The sum over the tasks of each stream.
[[nodiscard]] std::array<double, kStreamCount> by_stream(const Schedule& schedule,
                                                         std::span<const double> lateness_ns);

}  // namespace elixir::schedule
