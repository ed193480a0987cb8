// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// With several ranks: a chunk's gradients are collected in a block on the device. Once those of a
// micro-batch are all there, or those of all micro-batches (plan::reduces_once()), the ranks add them
// up, and each keeps its shard of the sum.

#include <map>
#include <vector>

#include "plan/plan.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/buffer_ring.h"
#include "schedule/lower/gradients/gradient_turns.h"
#include "schedule/lower/gradients/landing_ring.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class Reductions {
 public:
  Reductions(const plan::Plan& plan,
             const StepBuffers& buffers,
             std::vector<ChunkTasks>& chunk_tasks,
             LandingRing& landing,
             GradientTurns& turns,
             TaskList& tasks);

  /// `store` is a kStoreGradient without destination: it gets the chunk's block. It comes after
  /// `made_by`.
  void collect(Task store, TaskId made_by);
  /// All gradients that the ranks add up at once are collected. Returns the task of the cpu stream
  /// that adds them up and sums their squares; -1 where there is none.
  TaskId reduce(std::int32_t chunk, int micro_batch, bool sums_squares);
  void link_steps() const;

 private:
  /// A block of gradients: the first task of a step that writes it, and the latest that reads it.
  struct BlockUse {
    TaskId first_store = -1, last_reduce = -1;
  };

  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  LandingRing& landing_;
  GradientTurns& turns_;
  TaskList& tasks_;
  std::map<BufferId, BlockUse> block_uses_;
  BufferRing staging_;
  std::vector<TaskId> collected_;  // by chunk: the latest store into its block
};

}  // namespace elixir::schedule
