// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The tasks made so far, and for each chunk the tasks that concern it. Tasks are added in issue
// order, and waits that a stream's own order implies are left out.

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

  /// `task` waits for `previous` of the step before. Both are in the list; -1: there is none.
  void link(TaskId task, TaskId previous) {
    if (task < 0 || previous < 0 || streams_[task] == streams_[previous]) return;
    links_.push_back({.task = task, .previous = previous});
  }
  void end() {
    std::sort(links_.begin(), links_.end());
    links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
    sink_.end(links_);
  }

 private:
  TaskId add(Task&& task, const TaskId* first, const TaskId* last) {
    after_.clear();
    for (; first != last; ++first) {
      // A stream keeps its own order, in a step and from step to step.
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
  std::vector<StepLink> links_;
};

/// The tasks that concern a chunk; -1: none yet.
struct ChunkTasks {
  // The latest.
  TaskId home_read = -1;  ///< its parameters at home, for a block
  TaskId reader = -1;     ///< the compute task with its last use
  TaskId gradients_done = -1;
  TaskId gradients_read = -1;   ///< for the update
  TaskId optimized = -1;        ///< its update, of the last piece
  TaskId updated = -1;          ///< its parameters are home again
  TaskId moments_made = -1;     ///< the deferred moments of the step before
  TaskId gradients_freed = -1;  ///< the deferred moments that read the gradients' place before this
                                ///< step writes there; -1: this step writes another place
  int gradients_left = 0;       ///< of the last micro-batch
  // The first of a step, which wait for the latest of the step before.
  TaskId first_home_read = -1;
  TaskId first_reader = -1;  ///< where it reads the parameters at home itself
  TaskId first_store = -1;   ///< a gradient into the chunk's
};

}  // namespace elixir::schedule
