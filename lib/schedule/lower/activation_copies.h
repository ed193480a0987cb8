// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Activations that wait on the host, or on the device where gradients come later: the tasks that
// copy them there and back, between the operators that begin and end a copy (operators/own.h).

#include <map>
#include <vector>

#include "operators/own.h"
#include "program/program.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class ActivationCopies {
 public:
  /// `movements`: by operator.
  ActivationCopies(const program::Program& program,
                   const std::vector<operators::Movement>& movements,
                   const StepBuffers& buffers,
                   TaskList& tasks);

  [[nodiscard]] bool begins(program::OperatorId op) const;
  /// The copy that `op` begins. `range` is the compute task with `op`.
  void begin(program::OperatorId op, int micro_batch, TaskId range);
  /// The copy that must have ended before `op` runs; -1: none.
  [[nodiscard]] TaskId awaited_by(program::OperatorId op) const;
  /// The first copy of a step to the host waits for the last copy of the step before from there.
  void link_steps() const;

 private:
  /// Where an activation waits, the first task of a step that used this memory, and the latest.
  struct WaitingCopy {
    BufferId buffer = -1;
    bool on_device = false;
    TaskId first_written = -1, written = -1, read = -1;
  };

  const program::Program& program_;
  const std::vector<operators::Movement>& movements_;
  TaskList& tasks_;
  std::map<program::StorageId, WaitingCopy> copies_;  ///< by the storage of the copy
};

}  // namespace elixir::schedule
