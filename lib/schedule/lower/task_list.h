// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: a program and a plan become tasks (`lower` of schedule/schedule.h).
// Here: the tasks made so far, and the latest of them that concern a chunk.

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/task_sink.h"

namespace elixir::schedule {

/// Gives tasks their ids, in issue order, and passes them on.
class TaskList {
 public:
  explicit TaskList(TaskSink& sink) : sink_(sink) {}

  /// `after` may hold ids twice, and -1 for a task that is not there.
  TaskId add(Task task, const std::vector<TaskId>& after) {
    return add(std::move(task), after.data(), after.data() + after.size());
  }
  TaskId add(Task task, std::initializer_list<TaskId> after) {
    return add(std::move(task), after.begin(), after.end());
  }

 private:
  TaskId add(Task&& task, const TaskId* first, const TaskId* last) {
    after_.clear();
    for (; first != last; ++first) {
      // A stream keeps its own order.
      if (*first >= 0 && streams_[*first] != task.stream) after_.push_back(*first);
    }
    std::sort(after_.begin(), after_.end());
    after_.erase(std::unique(after_.begin(), after_.end()), after_.end());
    task.id = static_cast<TaskId>(streams_.size());
    streams_.push_back(task.stream);
    sink_.take(std::move(task), after_);
    return static_cast<TaskId>(streams_.size()) - 1;
  }

  TaskSink& sink_;
  std::vector<Stream> streams_;  ///< by task
  std::vector<TaskId> after_;    ///< of the task that is being added
};

/// The latest tasks that concern a chunk; -1: none yet.
struct ChunkTasks {
  TaskId fetch = -1;
  TaskId reader = -1;  ///< the compute task with its last use
  TaskId gradients_done = -1;
  int gradients_left = 0;  ///< of the last micro-batch
};

}  // namespace elixir::schedule
