// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/gradients/reductions.h"

#include <utility>

#include "program/program.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;

Reductions::Reductions(const plan::Plan& plan,
                       const StepBuffers& buffers,
                       std::vector<ChunkTasks>& chunk_tasks,
                       LandingRing& landing,
                       GradientTurns& turns,
                       TaskList& tasks)
    : plan_(plan),
      buffers_(buffers),
      chunk_tasks_(chunk_tasks),
      landing_(landing),
      turns_(turns),
      tasks_(tasks),
      staging_(buffers.reduced_staging),
      collected_(plan.chunks.size(), -1) {}

void Reductions::collect(Task store, TaskId made_by) {
  const std::int32_t chunk = store.chunk;
  store.destination = buffers_.of_chunk[chunk].gradient_block;
  BlockUse& block = block_uses_[store.destination];
  collected_[chunk] = tasks_.add(std::move(store), {made_by, block.last_reduce});
  if (block.first_store < 0) block.first_store = collected_[chunk];
}

TaskId Reductions::reduce(std::int32_t chunk, int micro_batch, bool sums_squares) {
  const Chunk& it = plan_.chunks[chunk];
  const ChunkBuffers& mine = buffers_.of_chunk[chunk];
  ChunkTasks& tasks = chunk_tasks_[chunk];
  const bool to_host = it.gradient_home == Home::kHost;
  const bool lands = to_host && !buffers_.landing.empty();
  BufferRing::Slot slot;
  if (to_host) slot = staging_.take();
  const TaskId turn = turns_.take(chunk);
  const TaskId reduced = tasks_.add({.kind = TaskKind::kReduce,
                                     .stream = Stream::kCollective,
                                     .micro_batch = micro_batch,
                                     .chunk = chunk,
                                     .source = mine.gradient_block,
                                     .destination = to_host ? slot.buffer : mine.gradients,
                                     .bytes = plan::exchanged_bytes(plan_, it),
                                     .sums_squares = sums_squares && !lands},
                                    {collected_[chunk], slot.free_after, to_host ? -1 : turn});
  block_uses_[mine.gradient_block].last_reduce = reduced;
  tasks.gradients_done = reduced;
  if (!to_host) {
    if (tasks.first_store < 0) tasks.first_store = reduced;
    return -1;
  }
  const std::int64_t bytes = plan::shard_bytes(plan_, it, it.gradient_dtype);
  LandingRing::Place place;
  if (lands) place = landing_.take(chunk, micro_batch);
  const TaskId stored = tasks_.add({.kind = TaskKind::kStoreShard,
                                    .stream = Stream::kDeviceToHost,
                                    .micro_batch = micro_batch,
                                    .chunk = chunk,
                                    .source = slot.buffer,
                                    .destination = lands ? place.slot.buffer : mine.gradients,
                                    .bytes = bytes},
                                   {reduced, place.free_after, turn});
  staging_.give_back(slot, reduced, stored);
  tasks.gradients_done = stored;
  if (!lands) {
    if (tasks.first_store < 0) tasks.first_store = stored;
    return -1;
  }
  const TaskId summed = tasks_.add({.kind = TaskKind::kAccumulate,
                                    .stream = Stream::kCpu,
                                    .micro_batch = micro_batch,
                                    .chunk = chunk,
                                    .source = place.slot.buffer,
                                    .destination = mine.gradients,
                                    .bytes = bytes * (micro_batch > 0 ? 3 : 2),
                                    .sums_squares = sums_squares},
                                   {stored});
  landing_.give_back(place, stored, summed);
  tasks.gradients_done = summed;
  if (tasks.first_store < 0) tasks.first_store = summed;
  return summed;
}

void Reductions::link_steps() const {
  for (const auto& [block, use] : block_uses_) tasks_.link(use.first_store, use.last_reduce);
  staging_.link_steps(tasks_);
}

}  // namespace elixir::schedule
