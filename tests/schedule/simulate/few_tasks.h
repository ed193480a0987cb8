// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Schedules of a few tasks, written by hand.

#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace elixir::schedule {

inline Task task(TaskId id,
                 Stream stream,
                 std::vector<TaskId> after,
                 std::vector<TaskId> previous = {}) {
  Task task;
  task.id = id;
  task.stream = stream;
  task.after = std::move(after);
  task.after_previous = std::move(previous);
  return task;
}

/// Forward, which needs a copy; backward; an update, which the next copy waits for.
inline Schedule offloaded() {
  Schedule schedule;
  schedule.tasks = {task(0, Stream::kHostToDevice, {}, {3}),
                    task(1, Stream::kCompute, {0}),
                    task(2, Stream::kCompute, {}),
                    task(3, Stream::kCpu, {2})};
  return schedule;
}

}  // namespace elixir::schedule
