// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/gradients/reductions.h"

#include "program/program.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;

Reductions::Reductions(const ProgramNeeds& program_needs,
                       const StepNeeds& needs,
                       const plan::Plan& plan,
                       const StepBuffers& buffers,
                       std::vector<ChunkTasks>& chunk_tasks,
                       LandingRing& landing,
                       GradientTurns& turns,
                       ComputeRanges& ranges,
                       TaskList& tasks)
    : program_needs_(program_needs),
      needs_(needs),
      plan_(plan),
      buffers_(buffers),
      chunk_tasks_(chunk_tasks),
      landing_(landing),
      turns_(turns),
      ranges_(ranges),
      tasks_(tasks),
      staging_(buffers.reduced_staging),
      collected_(plan.chunks.size(), -1) {
  for (const ChunkNeeds& chunk : needs.chunks) left_.push_back(chunk.gradients);
}

TaskId Reductions::collect(const ReadyGradient& gradient) {
  store(gradient);
  int& left = left_[gradient.chunk];
  if (--left > 0) return -1;
  left = needs_.chunks[gradient.chunk].gradients;
  if (plan::reduces_once(plan_) && !gradient.is_last) return -1;
  return reduce(gradient);
}

bool Reductions::is_direct(std::int32_t parameter, std::int32_t chunk) const {
  // In a block that adds up micro-batches, gradients are fp32, and the next one goes on top.
  return program_needs_.gradient_is_product[parameter] && needs_.chunks[chunk].trained &&
         !plan::reduces_once(plan_);
}

void Reductions::make_room(std::int32_t parameter, std::int32_t chunk, program::OperatorId op) {
  if (!is_direct(parameter, chunk)) return;
  const BufferId block = buffers_.of_chunk[chunk].gradient_block;
  BlockUse& use = block_uses_[block];
  // The first one of a step waits for the step before, too.
  if (use.first_store < 0 || use.last_reduce != use.awaited) {
    ranges_.close(op);
    ranges_.await(use.last_reduce);
    use.awaited = use.last_reduce;
  }
  ranges_.makes({.parameter = parameter, .block = block});
}

void Reductions::store(const ReadyGradient& gradient) {
  const std::int32_t chunk = gradient.chunk;
  const BufferId block = buffers_.of_chunk[chunk].gradient_block;
  BlockUse& use = block_uses_[block];
  collected_[chunk] =
      is_direct(gradient.parameter, chunk) ? gradient.made_by : copy(gradient, block, use);
  if (use.first_store < 0) use.first_store = collected_[chunk];
}

TaskId Reductions::copy(const ReadyGradient& gradient, BufferId block, BlockUse& use) {
  const program::DType dtype = plan_.chunks[gradient.chunk].dtype;
  const std::int64_t elements = program_needs_.gradient_elements[gradient.parameter];
  const std::int64_t kept_bytes =
      elements * program::element_bytes(plan::exchanged_dtype(plan_, dtype));
  const bool adds = plan::reduces_once(plan_) && gradient.micro_batch > 0;
  const bool waits = use.last_reduce != use.awaited;
  use.awaited = use.last_reduce;
  return tasks_.add(
      {.kind = TaskKind::kStoreGradient,
       .stream = Stream::kCompute,
       .micro_batch = gradient.micro_batch,
       .chunk = gradient.chunk,
       .parameter = gradient.parameter,
       .destination = block,
       .bytes = elements * program::element_bytes(dtype) + kept_bytes * (adds ? 2 : 1)},
      {gradient.made_by, waits ? use.last_reduce : -1});
}

TaskId Reductions::reduce(const ReadyGradient& last) {
  const std::int32_t chunk = last.chunk;
  const int micro_batch = last.micro_batch;
  const Chunk& it = plan_.chunks[chunk];
  const ChunkBuffers& mine = buffers_.of_chunk[chunk];
  ChunkTasks& tasks = chunk_tasks_[chunk];
  const bool to_host = it.gradient_home == Home::kHost;
  const bool lands = to_host && !buffers_.landing.empty();
  BufferRing::Slot slot;
  if (to_host) slot = staging_.take();
  const TaskId turn = turns_.take(chunk);
  const TaskId reduced = tasks_.add({.kind = TaskKind::kReduce,
                                     .stream = Stream::kReduce,
                                     .micro_batch = micro_batch,
                                     .chunk = chunk,
                                     .source = mine.gradient_block,
                                     .destination = to_host ? slot.buffer : mine.gradients,
                                     .bytes = plan::exchanged_bytes(plan_, it),
                                     .sums_squares = last.sums_squares && !lands},
                                    {collected_[chunk], slot.free_after, to_host ? -1 : turn});
  block_uses_[mine.gradient_block].last_reduce = last_ = reduced;
  tasks.gradients_done = reduced;
  if (!to_host) {
    if (tasks.first_store < 0) tasks.first_store = reduced;
    return -1;
  }
  const std::int64_t bytes = plan::shard_bytes(plan_, it, it.gradient_dtype);
  LandingRing::Place place;
  if (lands) place = landing_.take(chunk, micro_batch);
  const TaskId stored =
      tasks_.add({.kind = TaskKind::kStoreShard,
                  .stream = Stream::kDeviceToHost,
                  .micro_batch = micro_batch,
                  .chunk = chunk,
                  .source = slot.buffer,
                  .destination = lands ? place.slot.buffer : mine.gradients,
                  .bytes = bytes},
                 {reduced, place.free_after, turn, lands ? -1 : tasks.gradients_freed});
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
                                    .sums_squares = last.sums_squares},
                                   {stored});
  landing_.give_back(place, stored, summed);
  tasks.gradients_done = summed;
  if (tasks.first_store < 0) tasks.first_store = summed;
  return last.sums_squares ? summed : -1;
}

void Reductions::link_steps() const {
  for (const auto& [block, use] : block_uses_) tasks_.link(use.first_store, use.last_reduce);
  staging_.link_steps(tasks_);
}

}  // namespace elixir::schedule
