// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: what happens to a gradient between the operator that completes it and the update
// of its chunk. With one rank it is stored at its home (gradient_stores.h); with several it is
// collected until the ranks add up (reductions.h). The storage in which the operator made it goes
// once nobody reads it any more (gradient_releases.h). docs/design/architecture.md has the paths.
// Here: all of it, as the walk over the operators sees it.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/compute_ranges.h"
#include "schedule/lower/gradients/gradient_releases.h"
#include "schedule/lower/gradients/gradient_stores.h"
#include "schedule/lower/gradients/gradient_turns.h"
#include "schedule/lower/gradients/landing_ring.h"
#include "schedule/lower/gradients/ready_gradient.h"
#include "schedule/lower/gradients/reductions.h"
#include "schedule/lower/task_list.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Adds to `tasks` and to the open range; everything that it is given must outlive it.
class Gradients {
 public:
  Gradients(const program::Program& program,
            const program::Lifetimes& lifetimes,
            const ProgramNeeds& program_needs,
            const StepNeeds& needs,
            const plan::Plan& plan,
            const StepBuffers& buffers,
            std::vector<ChunkTasks>& chunk_tasks,
            ComputeRanges& ranges,
            TaskList& tasks);

  void begin_micro_batch() { releases_.begin_micro_batch(); }
  /// Before `op`, which completes the gradient of a parameter in `chunk`: where it is to be written
  /// must be free. Nothing may close the open range until `op` is in it.
  void make_room(std::int32_t parameter, std::int32_t chunk, program::OperatorId op);
  /// Takes the gradient of a trained parameter. Returns the task of the cpu stream that adds up its
  /// squares; -1: there is none.
  TaskId take(const ReadyGradient& gradient);
  /// Drops the gradient of a parameter that is not trained.
  void ignore(std::int32_t parameter) { releases_.done_with_gradient(storage_of(parameter)); }
  /// The open range releases storages of gradients that no operator after `op` reads.
  void release_after(program::OperatorId op) { releases_.release_after(op); }
  /// As in Reductions.
  [[nodiscard]] TaskId last_reduction() const { return reductions_.last(); }
  /// It releases whatever is left of the micro-batch, the loss included.
  void end_micro_batch() { releases_.end_micro_batch(); }
  /// The first task of a step that writes a buffer waits for the last of the step before that reads
  /// it.
  void link_steps() const;

 private:
  [[nodiscard]] program::StorageId storage_of(std::int32_t parameter) const {
    return program_.parameters[parameter].gradient->storage;
  }

  const program::Program& program_;
  const std::vector<ChunkTasks>& chunk_tasks_;
  TaskList& tasks_;
  const bool several_ranks_;
  LandingRing landing_;
  GradientTurns turns_;
  GradientStores stores_;
  Reductions reductions_;
  GradientReleases releases_;
};

}  // namespace elixir::schedule
