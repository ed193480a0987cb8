// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The optimizer's part of a step: what happens to a chunk once its gradients are complete. Without
// clipping each chunk is updated alone; with it, all of them once the global norm is known.

#include <array>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/buffer_ring.h"
#include "schedule/lower/task_list.h"
#include "schedule/lower/updates/streamed_updates.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class Updates {
 public:
  Updates(const plan::Plan& plan,
          const StepBuffers& buffers,
          std::vector<ChunkTasks>& chunk_tasks,
          TaskList& tasks);

  /// The moments that the step before has left to this one, of the chunks that backward reaches
  /// first first. They begin after `awaited`. Before the first gradient of the step.
  void late_moments(const std::vector<ChunkNeeds>& needs, const std::vector<TaskId>& awaited);
  /// The latest task of the cpu stream that has made sums of squares.
  void sums_on_host(TaskId task) { sums_on_host_ = task; }
  /// The global norm out of all sums of squares, then every trained chunk, in the order in which
  /// the next step needs them. `last_reduction` of several ranks; else -1.
  void clip_and_update(const std::vector<ChunkNeeds>& needs, TaskId last_reduction);
  /// Gradients to the optimizer's home where they live elsewhere, the pass, and the updated
  /// parameters to theirs.
  void update(std::int32_t chunk);
  /// After the last update of the step.
  void finish();

 private:
  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  TaskList& tasks_;

  std::array<BufferRing, 2> gradient_staging_, parameter_staging_;  // by optimizer home
  StreamedUpdates streamed_;
  TaskId sums_on_host_ = -1;
  TaskId clip_ = -1;
  TaskId first_moments_ = -1;  ///< of all that are made late
};

}  // namespace elixir::schedule
