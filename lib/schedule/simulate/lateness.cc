// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/lateness.h"

#include <algorithm>
#include <cstddef>

#include "core/error.h"
#include "schedule/simulate/serial.h"

namespace elixir::schedule {

std::vector<double> lateness_ns(const Schedule& schedule,
                                std::span<const TaskTime> times,
                                double step_ns) {
  require(!times.empty() && times.size() == schedule.tasks.size(),
          "times of other tasks than the schedule's");
  const bool serial = one_after_another(times, step_ns);
  const auto lane_of = [&](const Task& task) {
    return serial ? 0 : static_cast<std::size_t>(task.stream);
  };
  // By stream: when its task before has ended. At first that is the last one of the step before.
  std::array<double, kStreamCount> free_ns{};
  for (const Task& task : schedule.tasks) free_ns[lane_of(task)] = times[task.id].end_ns - step_ns;
  std::vector<double> late_ns;
  late_ns.reserve(times.size());
  for (const Task& task : schedule.tasks) {
    double& ready_ns = free_ns[lane_of(task)];
    for (const TaskId other : task.after) ready_ns = std::max(ready_ns, times[other].end_ns);
    for (const TaskId other : task.after_previous) {
      ready_ns = std::max(ready_ns, times[other].end_ns - step_ns);
    }
    late_ns.push_back(std::max(0.0, times[task.id].start_ns - ready_ns));
    ready_ns = times[task.id].end_ns;
  }
  return late_ns;
}

std::array<double, kStreamCount> by_stream(const Schedule& schedule,
                                           std::span<const double> lateness_ns) {
  std::array<double, kStreamCount> sums{};
  for (const Task& task : schedule.tasks) {
    sums[static_cast<std::size_t>(task.stream)] += lateness_ns[task.id];
  }
  return sums;
}

}  // namespace elixir::schedule
