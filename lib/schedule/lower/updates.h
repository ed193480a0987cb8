// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The optimizer's part of a step: what happens to a chunk once its gradients are complete. Without
// clipping each chunk is updated alone; with it, all of them once the global norm is known.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "schedule/buffers.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Buffers that take turns. A buffer is free again when its last user has finished.
class BufferRing {
 public:
  BufferRing() = default;
  explicit BufferRing(std::vector<BufferId> buffers);

  struct Slot {
    std::size_t index = 0;
    BufferId buffer = -1;
    TaskId free_after = -1;
  };
  [[nodiscard]] Slot take();
  void give_back(const Slot& slot, TaskId first_user, TaskId last_user);
  /// The first user of a step waits for the last one of the step before.
  void link_steps(TaskList& tasks) const;

 private:
  std::vector<BufferId> buffers_;
  std::vector<TaskId> first_user_, busy_until_;
  std::size_t next_ = 0;
};

/// Adds to `tasks`; everything that it is given must outlive it.
class Updates {
 public:
  Updates(const plan::Plan& plan,
          const StepBuffers& buffers,
          std::vector<ChunkTasks>& chunk_tasks,
          TaskList& tasks);

  /// Before clipping: the chunk's share of the global norm, taken as its gradients are complete.
  void measure(std::int32_t chunk, int micro_batch);
  /// The global norm out of all shares, then every chunk of which one was measured, in the order in
  /// which the next step needs them.
  void clip_and_update(const std::vector<ChunkNeeds>& needs);
  /// Gradients to the optimizer's home where they live elsewhere, the pass, and the updated
  /// parameters to theirs.
  void update(std::int32_t chunk);
  /// What takes turns in a step must do so from step to step.
  void link_steps() const;

 private:
  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  TaskList& tasks_;

  std::array<BufferRing, 2> gradient_staging_, parameter_staging_;  // by optimizer home
  std::vector<std::int32_t> measured_;                              // in the order of `measure`
  std::vector<TaskId> norms_;                                       // of `measured_`
  TaskId clip_ = -1;
};

}  // namespace elixir::schedule
