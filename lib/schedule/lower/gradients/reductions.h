// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// With several ranks: a chunk's gradients are collected in a block on the device. A matrix product
// writes its gradient there; every other gradient is copied. Once the block has all gradients of a
// micro-batch, or of all micro-batches (plan::reduces_once()), the ranks add them up, and each
// keeps its shard of the sum.

#include <map>
#include <vector>

#include "plan/plan.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/buffer_ring.h"
#include "schedule/lower/compute_ranges.h"
#include "schedule/lower/gradients/gradient_turns.h"
#include "schedule/lower/gradients/landing_ring.h"
#include "schedule/lower/gradients/ready_gradient.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class Reductions {
 public:
  Reductions(const ProgramNeeds& program_needs,
             const StepNeeds& needs,
             const plan::Plan& plan,
             const StepBuffers& buffers,
             std::vector<ChunkTasks>& chunk_tasks,
             LandingRing& landing,
             GradientTurns& turns,
             ComputeRanges& ranges,
             TaskList& tasks);

  /// Before `op`, which completes the gradient. Where it is to write it to the block, the open
  /// range begins once the block is free.
  void make_room(std::int32_t parameter, std::int32_t chunk, program::OperatorId op);
  /// The gradient goes to its chunk's block. With the last one that is missing there, the ranks add
  /// up. Returns the task of the cpu stream that adds up squares; -1: there is none.
  TaskId collect(const ReadyGradient& gradient);
  /// The latest reduction, which has made sums of squares; -1: there is none.
  [[nodiscard]] TaskId last() const { return last_; }
  void link_steps() const;

 private:
  /// A block of gradients: the first task of a step that writes it, the latest that reads it, and
  /// the latest of those that the compute stream has waited for.
  struct BlockUse {
    TaskId first_store = -1, last_reduce = -1, awaited = -1;
  };
  /// Whether the gradient's operator writes it to the block.
  [[nodiscard]] bool is_direct(std::int32_t parameter, std::int32_t chunk) const;
  /// The gradient is in the block, or on its way there.
  void store(const ReadyGradient& gradient);
  TaskId copy(const ReadyGradient& gradient, BufferId block, BlockUse& use);
  /// All gradients that the ranks add up at once are in the chunk's block; `last` is one of them.
  TaskId reduce(const ReadyGradient& last);

  const ProgramNeeds& program_needs_;
  const StepNeeds& needs_;
  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  LandingRing& landing_;
  GradientTurns& turns_;
  ComputeRanges& ranges_;
  TaskList& tasks_;
  std::map<BufferId, BlockUse> block_uses_;
  BufferRing staging_;
  TaskId last_ = -1;
  // By chunk:
  std::vector<int> left_;          // of a micro-batch's gradients
  std::vector<TaskId> collected_;  // the latest store into its block
};

}  // namespace elixir::schedule
