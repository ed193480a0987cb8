// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The compute tasks of a step. Operators gather in an open range. To do something between two
// operators, close the range first: the operators before become one task. What is awaited or
// released from then on belongs to the next task.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/program.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Adds to `tasks`, and notes the readers of chunks. Everything that it is given must outlive it.
class ComputeRanges {
 public:
  ComputeRanges(const ProgramNeeds& program_needs,
                const StepNeeds& needs,
                std::vector<ChunkTasks>& chunk_tasks,
                TaskList& tasks);

  void begin_micro_batch(int micro_batch);
  /// A task of the operators since the last one, up to `end`, unless none of them is executed: then
  /// the range stays open.
  void close(program::OperatorId end);
  /// No range has `op`, which belongs to a phase that does not run.
  void leave_out(program::OperatorId op);
  /// A task of all operators up to `end` that are in none yet, executed or not.
  void close_all(program::OperatorId end);
  /// The empty range that ends a micro-batch.
  void end_micro_batch();

  // About the open range:
  /// It starts after `task`; -1: there is none.
  void await(TaskId task) { after_.push_back(task); }
  /// It releases the storage before its first operator.
  void release(program::StorageId storage) { releases_.push_back(storage); }
  /// It has the operator that makes the gradient.
  void makes(const DirectGradient& gradient) { direct_.push_back(gradient); }
  /// It is the first in a step that reads the chunk at home, where another stream updates it.
  void reads_first(std::int32_t chunk) { first_reads_.push_back(chunk); }

  /// The compute task that came last; -1: there is none yet.
  [[nodiscard]] TaskId last() const { return last_; }
  [[nodiscard]] TaskId last_input_reader() const { return last_input_reader_; }
  /// The first and the last task that uses a module's buffer which the step changes; -1: none yet.
  [[nodiscard]] TaskId first_buffer_user() const { return first_buffer_user_; }
  [[nodiscard]] TaskId last_buffer_user() const { return last_buffer_user_; }

 private:
  void emit(program::OperatorId end);
  void note_users(program::OperatorId end);

  const ProgramNeeds& program_needs_;
  const StepNeeds& needs_;
  std::vector<ChunkTasks>& chunk_tasks_;
  TaskList& tasks_;

  int micro_batch_ = 0;
  std::size_t next_last_use_ = 0;  // in needs_.last_uses: the first that no range contains yet
  // The open range.
  program::OperatorId first_ = 0;
  std::vector<TaskId> after_;
  std::vector<program::StorageId> releases_;
  std::vector<DirectGradient> direct_;
  std::vector<std::int32_t> first_reads_;  // chunks

  TaskId last_ = -1;
  TaskId last_input_reader_ = -1;
  TaskId first_buffer_user_ = -1, last_buffer_user_ = -1;
};

}  // namespace elixir::schedule
