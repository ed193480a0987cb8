// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: a program and a plan become tasks (`lower` of schedule/schedule.h).
// Here: the tasks made so far, and the latest of them that concern a chunk.

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/schedule.h"

namespace elixir::schedule {

/// Tasks in issue order, which is the order of their ids.
class TaskList {
 public:
  /// `after` may hold ids twice, and -1 for a task that is not there.
  TaskId add(Task task, std::vector<TaskId> after) {
    task.id = static_cast<TaskId>(tasks_.size());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (const TaskId before : after) {
      // A stream keeps its own order.
      if (before >= 0 && tasks_[before].stream != task.stream) task.after.push_back(before);
    }
    tasks_.push_back(std::move(task));
    return tasks_.back().id;
  }

  /// All of them; none is left here.
  [[nodiscard]] std::vector<Task> take() { return std::exchange(tasks_, {}); }

 private:
  std::vector<Task> tasks_;
};

/// The latest tasks that concern a chunk; -1: none yet.
struct ChunkTasks {
  TaskId fetch = -1;
  TaskId reader = -1;  ///< the compute task with its last use
  TaskId gradients_done = -1;
  int gradients_left = 0;  ///< of the last micro-batch
};

}  // namespace elixir::schedule
