// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/gradients/gradients.h"

namespace elixir::schedule {

Gradients::Gradients(const program::Program& program,
                     const program::Lifetimes& lifetimes,
                     const ProgramNeeds& program_needs,
                     const StepNeeds& needs,
                     const plan::Plan& plan,
                     const StepBuffers& buffers,
                     std::vector<ChunkTasks>& chunk_tasks,
                     ComputeRanges& ranges,
                     TaskList& tasks)
    : program_(program),
      chunk_tasks_(chunk_tasks),
      tasks_(tasks),
      several_ranks_(plan.world > 1),
      landing_(buffers),
      turns_(buffers, chunk_tasks),
      stores_(program, program_needs, plan, buffers, chunk_tasks, landing_, turns_, tasks),
      reductions_(
          program_needs, needs, plan, buffers, chunk_tasks, landing_, turns_, ranges, tasks),
      releases_(program, lifetimes, program_needs, plan.cache.gradient_window_bytes, ranges) {}

void Gradients::make_room(std::int32_t parameter, std::int32_t chunk, program::OperatorId op) {
  if (several_ranks_) reductions_.make_room(parameter, chunk, op);
}

TaskId Gradients::take(const ReadyGradient& gradient) {
  const program::StorageId storage = storage_of(gradient.parameter);
  TaskId sums_on_host = -1;
  if (several_ranks_) {
    sums_on_host = reductions_.collect(gradient);
  } else {
    const GradientStores::Stored stored = stores_.store(gradient);
    sums_on_host = stored.sums_on_host;
    if (stored.copy >= 0) releases_.copied(storage, stored.copy);
  }
  releases_.done_with_gradient(storage);
  return sums_on_host;
}

void Gradients::link_steps() const {
  for (const ChunkTasks& chunk : chunk_tasks_) tasks_.link(chunk.first_store, chunk.gradients_read);
  landing_.link_steps(tasks_);
  turns_.link_steps(tasks_);
  reductions_.link_steps();
}

}  // namespace elixir::schedule
