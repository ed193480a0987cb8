// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: a program and a plan become tasks (`lower` of schedule/schedule.h).
// Here: one walk over the operators of each micro-batch, in order, which makes all tasks of a step.
// It says what happens around an operator and in which order; its members, one for each kind of
// work, say how. Before it begins, step_needs.h has said what operators need, and buffers and loads
// of blocks are chosen.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/activation_copies.h"
#include "schedule/lower/chunk_fetches.h"
#include "schedule/lower/compute_ranges.h"
#include "schedule/lower/gradients/gradients.h"
#include "schedule/lower/task_list.h"
#include "schedule/lower/updates/updates.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"
#include "schedule/task_sink.h"

namespace elixir::schedule {

/// Everything that it is given must outlive it.
class OperatorWalk {
 public:
  /// The arguments of lower_into(). Gives the buffers to `sink`.
  OperatorWalk(TaskSink& sink,
               const program::Program& program,
               const program::Lifetimes& lifetimes,
               const ProgramNeeds& program_needs,
               const plan::Plan& plan,
               const std::vector<plan::Place>& places,
               const LoweringOptions& options);

  /// Gives all tasks of a step to the sink. Call it once.
  void run();

 private:
  void lower_micro_batch(int m);
  void load_inputs();

  // Before an operator. A new range starts there if it has to wait.
  void before_operator(program::OperatorId op);
  void await(TaskId task, program::OperatorId op);
  [[nodiscard]] std::vector<std::int32_t> first_reads_at_home(program::OperatorId op) const;

  // After an operator. The range ends there if anything has to follow.
  void after_operator(program::OperatorId op);
  [[nodiscard]] std::vector<std::int32_t> finished_chunks(program::OperatorId op) const;
  void read_loss();
  void take_gradient(std::int32_t parameter, program::OperatorId op);

  // After the last micro-batch.
  void share_buffers();
  void link_steps();

  /// As in loads/loads.h.
  [[nodiscard]] std::int64_t position(program::OperatorId op) const {
    return static_cast<std::int64_t>(micro_batch_) * operator_count_ + op;
  }
  [[nodiscard]] bool updates_after_clipping() const {
    return options_.training && options_.clip_gradients;
  }
  [[nodiscard]] bool last_micro_batch() const { return micro_batch_ + 1 == micro_batches_; }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const ProgramNeeds& program_needs_;
  const plan::Plan& plan_;
  const std::vector<plan::Place>& places_;
  const LoweringOptions& options_;
  const int micro_batches_;
  const program::OperatorId operator_count_;
  const StepNeeds needs_;
  const StepBuffers buffers_;

  TaskList tasks_;
  std::vector<ChunkTasks> chunk_tasks_;  // by chunk
  ComputeRanges ranges_;
  ChunkFetches fetches_;
  ActivationCopies copies_;
  Gradients gradients_;
  Updates updates_;

  /// Late moments of the step before come before this one; -1: before anything else, or there are
  /// none.
  const program::OperatorId moments_before_;
  int micro_batch_ = 0;
  TaskId first_inputs_ = -1;  // the load of the first micro-batch's
  TaskId loss_read_ = -1;     // of this micro-batch
};

}  // namespace elixir::schedule
