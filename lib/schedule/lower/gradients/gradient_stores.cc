// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/gradients/gradient_stores.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;

GradientStores::GradientStores(const program::Program& program,
                               const ProgramNeeds& program_needs,
                               const plan::Plan& plan,
                               const StepBuffers& buffers,
                               std::vector<ChunkTasks>& chunk_tasks,
                               LandingRing& landing,
                               GradientTurns& turns,
                               TaskList& tasks)
    : program_(program),
      program_needs_(program_needs),
      plan_(plan),
      buffers_(buffers),
      chunk_tasks_(chunk_tasks),
      landing_(landing),
      turns_(turns),
      tasks_(tasks) {}

GradientStores::Stored GradientStores::store(const ReadyGradient& gradient) {
  const std::int32_t c = gradient.chunk;
  const Chunk& chunk = plan_.chunks[c];
  const ChunkBuffers& mine = buffers_.of_chunk[c];
  const bool to_host = chunk.gradient_home == Home::kHost;
  const bool lands = to_host && !buffers_.landing.empty();
  const bool adds = gradient.micro_batch > 0;
  const std::int64_t elements = program_needs_.gradient_elements[gradient.parameter];
  const std::int64_t sum_bytes =
      elements * program::element_bytes(chunk.gradient_dtype) * (adds ? 2 : 1);
  const program::DType made_in = program_.parameters[gradient.parameter].gradient->dtype;
  const std::int64_t gradient_bytes = elements * program::element_bytes(made_in);
  if (gradient.sums_squares && to_host && !lands) {
    tasks_.add({.kind = TaskKind::kGradientNorm,
                .stream = Stream::kCompute,
                .micro_batch = gradient.micro_batch,
                .chunk = c,
                .parameter = gradient.parameter,
                .destination = buffers_.gradient_sums,
                .bytes = gradient_bytes},
               {gradient.made_by});
  }
  LandingRing::Place place;
  if (lands) place = landing_.take(c, gradient.micro_batch);
  // Over a link the gradient's bytes; on the device what the pass reads and writes.
  const TaskId stored = tasks_.add({.kind = TaskKind::kStoreGradient,
                                    .stream = to_host ? Stream::kDeviceToHost : Stream::kCompute,
                                    .micro_batch = gradient.micro_batch,
                                    .chunk = c,
                                    .parameter = gradient.parameter,
                                    .destination = lands ? place.slot.buffer : mine.gradients,
                                    .bytes = gradient_bytes + (to_host ? 0 : sum_bytes),
                                    .sums_squares = gradient.sums_squares && !to_host},
                                   {gradient.made_by,
                                    place.free_after,
                                    turns_.take(c),
                                    lands ? -1 : chunk_tasks_[c].gradients_freed});
  Stored result{.copy = to_host ? stored : -1};
  TaskId done = stored;
  if (lands) {
    done = tasks_.add({.kind = TaskKind::kAccumulate,
                       .stream = Stream::kCpu,
                       .micro_batch = gradient.micro_batch,
                       .chunk = c,
                       .parameter = gradient.parameter,
                       .source = place.slot.buffer,
                       .destination = mine.gradients,
                       .bytes = gradient_bytes + sum_bytes,
                       .sums_squares = gradient.sums_squares},
                      {stored});
    landing_.give_back(place, stored, done);
    if (gradient.sums_squares) result.sums_on_host = done;
  }
  ChunkTasks& tasks = chunk_tasks_[c];
  if (tasks.first_store < 0) tasks.first_store = done;
  tasks.gradients_done = done;
  return result;
}

}  // namespace elixir::schedule
