// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/updates/updates.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "program/program.h"
#include "schedule/buffers/update_piece.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;
using plan::Home;

std::int64_t share_of(std::int64_t bytes, double share) {
  return std::llround(static_cast<double>(bytes) * share);
}

/// The trained chunks, as the next forward needs them.
std::vector<std::int32_t> in_order_of_use(const std::vector<ChunkNeeds>& needs) {
  std::vector<std::int32_t> order;
  for (std::size_t c = 0; c < needs.size(); ++c) {
    if (needs[c].trained) order.push_back(static_cast<std::int32_t>(c));
  }
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return needs[a].first_use < needs[b].first_use;
  });
  return order;
}

}  // namespace

Updates::Updates(const plan::Plan& plan,
                 const StepBuffers& buffers,
                 std::vector<ChunkTasks>& chunk_tasks,
                 TaskList& tasks)
    : plan_(plan),
      buffers_(buffers),
      chunk_tasks_(chunk_tasks),
      tasks_(tasks),
      streamed_(plan, buffers, chunk_tasks, tasks) {
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    gradient_staging_[side] = BufferRing(buffers.gradient_staging[side]);
    parameter_staging_[side] = BufferRing(buffers.parameter_staging[side]);
  }
}

void Updates::late_moments(const std::vector<ChunkNeeds>& needs,
                           const std::vector<TaskId>& awaited) {
  std::vector<std::int32_t> order = in_order_of_use(needs);
  std::reverse(order.begin(), order.end());
  for (const std::int32_t chunk : order) {
    const Chunk& it = plan_.chunks[chunk];
    if (!it.late_moments) continue;
    const TaskId made = tasks_.add(
        {.kind = TaskKind::kUpdateMoments,
         .stream = Stream::kCpu,
         .chunk = chunk,
         .source = buffers_.of_chunk[chunk].gradients,
         .bytes = share_of(plan::shard_elements(plan_, it) * moment_update_bytes(plan_, it),
                           late_shares(plan_, it).moments)},
        first_moments_ < 0 ? awaited : std::vector<TaskId>());
    chunk_tasks_[chunk].moments_made = made;
    if (first_moments_ < 0) first_moments_ = made;
    if (plan::kept_gradients(plan_, it) == 1) chunk_tasks_[chunk].gradients_freed = made;
  }
}

void Updates::clip_and_update(const std::vector<ChunkNeeds>& needs, TaskId last_reduction) {
  const std::vector<std::int32_t> order = in_order_of_use(needs);
  if (order.empty()) return;
  TaskId gathered = -1;
  if (plan_.world > 1) {
    gathered = tasks_.add({.kind = TaskKind::kGatherSums,
                           .stream = Stream::kCollective,
                           .source = buffers_.rank_sums,
                           .destination = buffers_.gradient_sums,
                           .bytes = buffers_.all[buffers_.gradient_sums].bytes},
                          {sums_on_host_, last_reduction});
  }
  // On the compute stream, where nearly all sums are made, no update on the device waits for the
  // host.
  clip_ = tasks_.add({.kind = TaskKind::kClip,
                      .stream = Stream::kCompute,
                      .source = buffers_.gradient_sums,
                      .bytes = buffers_.all[buffers_.gradient_sums].bytes},
                     {sums_on_host_, gathered});
  for (const std::int32_t chunk : order) update(chunk);
}

void Updates::finish() {
  streamed_.finish();
  streamed_.link_steps();
  // The updates of the step before read the moments that these overwrite, and leave them to be
  // made.
  for (const ChunkTasks& chunk : chunk_tasks_) tasks_.link(chunk.moments_made, chunk.optimized);
  // Forward waits for these loads, and nothing waits for moments yet, which would take memory from
  // them.
  tasks_.link(first_moments_, streamed_.last_load());
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    gradient_staging_[side].link_steps(tasks_);
    parameter_staging_[side].link_steps(tasks_);
  }
}

void Updates::update(std::int32_t chunk) {
  const Chunk& it = plan_.chunks[chunk];
  if (it.streams_update) return streamed_.update(chunk, clip_);
  const ChunkBuffers& mine = buffers_.of_chunk[chunk];
  ChunkTasks& before = chunk_tasks_[chunk];
  const bool on_device = it.optimizer_home == Home::kDevice;
  const auto side = static_cast<std::size_t>(it.optimizer_home);
  const std::int64_t gradient_bytes = plan::shard_bytes(plan_, it, it.gradient_dtype);
  const bool moves_gradients = it.gradient_home != it.optimizer_home;
  const bool moves_parameters = it.parameter_home != it.optimizer_home;
  const bool stages_parameters = moves_parameters && it.dtype != program::DType::kFloat32;
  // Whoever writes the parameters' home waits for its readers: loads of blocks, or operators.
  const TaskId readers = plan::needs_block(plan_, it) ? before.home_read : before.reader;

  std::vector<TaskId> after = {before.gradients_done, clip_};
  BufferRing::Slot gradients, parameters;
  if (moves_gradients) {
    gradients = gradient_staging_[side].take();
    before.gradients_read =
        tasks_.add({.kind = TaskKind::kMoveGradients,
                    .stream = on_device ? Stream::kDeviceUpdate : Stream::kUpdateToHost,
                    .chunk = chunk,
                    .source = mine.gradients,
                    .destination = gradients.buffer,
                    .bytes = gradient_bytes},
                   {before.gradients_done, gradients.free_after});
    after.push_back(before.gradients_read);
  }
  BufferId updated_parameters = moves_parameters ? mine.master : mine.parameters;
  if (stages_parameters) {
    parameters = parameter_staging_[side].take();
    updated_parameters = parameters.buffer;
    after.push_back(parameters.free_after);
  } else if (!moves_parameters) {
    after.push_back(readers);
  }
  const TaskId updated = tasks_.add(
      {.kind = TaskKind::kUpdate,
       .stream = on_device ? Stream::kCompute : Stream::kCpu,
       .chunk = chunk,
       .source = moves_gradients ? gradients.buffer : mine.gradients,
       .destination = updated_parameters,
       .bytes = share_of(
           plan::shard_elements(plan_, it) *
               (it.late_moments ? parameter_update_bytes(plan_, it) : update_bytes(plan_, it)),
           late_shares(plan_, it).parameters)},
      after);
  before.optimized = before.updated = updated;
  if (moves_gradients) {
    gradient_staging_[side].give_back(gradients, before.gradients_read, updated);
  } else {
    before.gradients_read = updated;
  }
  if (!moves_parameters) return;
  before.updated = tasks_.add({.kind = TaskKind::kMoveParameters,
                               .stream = on_device ? Stream::kUpdateToHost : Stream::kDeviceUpdate,
                               .chunk = chunk,
                               .source = updated_parameters,
                               .destination = mine.parameters,
                               .bytes = plan::shard_bytes(plan_, it, it.dtype)},
                              {updated, readers});
  if (stages_parameters) parameter_staging_[side].give_back(parameters, updated, before.updated);
}

}  // namespace elixir::schedule
