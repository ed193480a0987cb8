// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Chunks that share a buffer for their gradients (buffers/shared_gradients.h): the first gradient
// of a chunk waits until the update has read the gradients of the chunk before it.

#include <map>
#include <utility>
#include <vector>

#include "core/error.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/task_list.h"

namespace elixir::schedule {

/// What it is given must outlive it.
class GradientTurns {
 public:
  GradientTurns(const StepBuffers& buffers, const std::vector<ChunkTasks>& chunk_tasks)
      : buffers_(buffers), chunk_tasks_(chunk_tasks) {}

  /// For whoever writes gradients of the chunk; -1 where nothing is in the way.
  TaskId take(std::int32_t chunk) {
    const BufferId mine = buffers_.of_chunk[chunk].gradients;
    const BufferId shared = buffers_.all[mine].shares;
    if (shared < 0 || shared == buffers_.lent) return -1;
    const auto [turn, is_first] = turns_.try_emplace(shared, Turn{chunk, chunk});
    if (is_first || turn->second.now == chunk) return -1;
    const TaskId read = chunk_tasks_[std::exchange(turn->second.now, chunk)].gradients_read;
    require(read >= 0, "a chunk takes a buffer of gradients that are still to be read");
    return read;
  }

  void link_steps(TaskList& tasks) const {
    for (const auto& [shared, turn] : turns_) {
      tasks.link(chunk_tasks_[turn.first].first_store, chunk_tasks_[turn.now].gradients_read);
    }
  }

 private:
  struct Turn {
    std::int32_t first, now;  ///< chunks of this step
  };

  const StepBuffers& buffers_;
  const std::vector<ChunkTasks>& chunk_tasks_;
  std::map<BufferId, Turn> turns_;  ///< by shared buffer
};

}  // namespace elixir::schedule
