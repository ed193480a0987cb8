// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Chunks that come into blocks: first from the host over the link, then from the other ranks'
// shards. A load is issued as soon as its block is free, long before an operator needs the chunk.
// Positions as in loads/loads.h.

#include <cstdint>
#include <map>
#include <vector>

#include "plan/plan.h"
#include "schedule/buffers/buffers.h"
#include "schedule/loads/loads.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class ChunkFetches {
 public:
  /// `loads`: what choose_loads() returned.
  ChunkFetches(const plan::Plan& plan,
               std::vector<Load> loads,
               const StepBuffers& buffers,
               std::vector<ChunkTasks>& chunk_tasks,
               TaskList& tasks);

  /// The tasks that bring what the operator at `here` needs and no operator before it. Ask once.
  [[nodiscard]] std::vector<TaskId> awaited_at(std::int64_t here);
  /// Whether a block is free once position `here` has run, and another chunk may come into it.
  [[nodiscard]] bool frees_at(std::int64_t here) const { return loads_.frees_at(here); }
  /// Issues the loads into blocks that are free once position `here` has run; -1: into blocks that
  /// are free from the start.
  void fetch_freed(std::int64_t here, int micro_batch);
  /// The first load of a step waits for what the step before did with the chunk and the block.
  void link_steps() const;

 private:
  /// A block of the cache, or of a private chunk, in one step.
  struct BlockUse {
    TaskId first_load = -1;
    std::int32_t holds = -1;  ///< the chunk that came last
  };
  /// `evicted`: the task that gave up the block; -1: nothing was in it.
  void issue(Load& load, TaskId evicted, int micro_batch);

  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  TaskList& tasks_;
  LoadQueue loads_;
  std::map<BufferId, BlockUse> block_uses_;  // blocks that were fetched into
};

}  // namespace elixir::schedule
