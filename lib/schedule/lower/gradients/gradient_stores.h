// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// With one rank: each gradient goes from its operator's storage to its home. Where several
// micro-batches are added up on the host, it lands beside its home first (landing_ring.h).

#include <vector>

#include "plan/plan.h"
#include "program/program.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/gradients/gradient_turns.h"
#include "schedule/lower/gradients/landing_ring.h"
#include "schedule/lower/gradients/ready_gradient.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class GradientStores {
 public:
  GradientStores(const program::Program& program,
                 const ProgramNeeds& program_needs,
                 const plan::Plan& plan,
                 const StepBuffers& buffers,
                 std::vector<ChunkTasks>& chunk_tasks,
                 LandingRing& landing,
                 GradientTurns& turns,
                 TaskList& tasks);

  /// The tasks that others must know of; -1: none.
  struct Stored {
    TaskId copy = -1;          ///< reads the gradient's storage from another stream
    TaskId sums_on_host = -1;  ///< of the cpu stream: adds up squares
  };
  Stored store(const ReadyGradient& gradient);

 private:
  const program::Program& program_;
  const ProgramNeeds& program_needs_;
  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  LandingRing& landing_;
  GradientTurns& turns_;
  TaskList& tasks_;
};

}  // namespace elixir::schedule
