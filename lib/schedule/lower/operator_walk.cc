// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/operator_walk.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/error.h"
#include "schedule/loads/loads.h"

namespace elixir::schedule {
namespace {

using program::OperatorId;

/// What happens once an operator has run, before the next one does.
struct OperatorEnd {
  bool frees_block = false;
  bool makes_loss = false;
  bool begins_copy = false;
  std::span<const std::int32_t> gradients_ready;  ///< of these parameters
  std::vector<std::int32_t> finished;             ///< chunks that may be updated now
  bool frees_gradients = false;

  [[nodiscard]] bool nothing() const {
    return !frees_block && !makes_loss && !begins_copy && gradients_ready.empty() &&
           finished.empty() && !frees_gradients;
  }
};

std::vector<ChunkTasks> no_tasks_yet(const StepNeeds& needs) {
  std::vector<ChunkTasks> chunks;
  for (const ChunkNeeds& chunk : needs.chunks)
    chunks.push_back({.gradients_left = chunk.gradients});
  return chunks;
}

/// The operator that uses the chunk which the cores update last; -1 with one shard. The chunk's
/// gather ends when every rank has updated its shard. Deferred moments start after it, the slowest
/// rank's last update, so that fast ranks do not compete for bandwidth.
OperatorId first_use_of_last_update(const plan::Plan& plan,
                                    const StepNeeds& needs,
                                    const ProgramNeeds& program_needs) {
  if (plan::grid_of(plan).shards() == 1) return -1;
  OperatorId last = -1;
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    const plan::Chunk& chunk = plan.chunks[c];
    const bool on_cores = chunk.optimizer_home == plan::Home::kHost && !chunk.streams_update;
    if (on_cores && needs.chunks[c].trained) last = std::max(last, needs.chunks[c].first_use);
  }
  return std::min(last, program_needs.loss_ready);  // before any gradient
}

}  // namespace

OperatorWalk::OperatorWalk(TaskSink& sink,
                           const program::Program& program,
                           const program::Lifetimes& lifetimes,
                           const ProgramNeeds& program_needs,
                           const plan::Plan& plan,
                           const std::vector<plan::Place>& places,
                           const LoweringOptions& options)
    : program_(program),
      lifetimes_(lifetimes),
      program_needs_(program_needs),
      plan_(plan),
      places_(places),
      options_(options),
      micro_batches_(options.training ? plan.accumulation_steps : 1),
      operator_count_(static_cast<OperatorId>(program.operators.size())),
      needs_(step_needs(program, lifetimes, program_needs, plan, places)),
      buffers_(
          step_buffers(program, lifetimes, program_needs, plan, places, needs_, micro_batches_)),
      tasks_(sink),
      chunk_tasks_(no_tasks_yet(needs_)),
      ranges_(program_needs, needs_, chunk_tasks_, tasks_),
      fetches_(
          plan,
          choose_loads(lifetimes, program_needs, plan, places, needs_, buffers_, micro_batches_),
          buffers_,
          chunk_tasks_,
          tasks_),
      copies_(program, program_needs.movements, buffers_, tasks_),
      gradients_(
          program, lifetimes, program_needs, needs_, plan, buffers_, chunk_tasks_, ranges_, tasks_),
      updates_(plan, buffers_, chunk_tasks_, tasks_),
      moments_before_(first_use_of_last_update(plan, needs_, program_needs)) {
  require(!options.clip_gradients || !shares_gradients(plan),
          "the plan has no room for all gradients at once, as clipping needs them");
  require(!options.training || options.clip_gradients ||
              std::none_of(plan.chunks.begin(),
                           plan.chunks.end(),
                           [](const plan::Chunk& chunk) { return chunk.late_moments; }),
          "moments are made late, but no update waits for a norm");
  sink.begin(buffers_.all);
}

void OperatorWalk::run() {
  // One rank waits for nothing, and its cores have nothing else to do.
  if (updates_after_clipping() && moments_before_ < 0) updates_.late_moments(needs_.chunks, {});
  for (int m = 0; m < micro_batches_; ++m) lower_micro_batch(m);
  if (updates_after_clipping()) {
    updates_.clip_and_update(needs_.chunks, gradients_.last_reduction());
  }
  updates_.finish();
  if (options_.training && plan_.world > 1) share_buffers();
  link_steps();
  tasks_.end();
}

void OperatorWalk::lower_micro_batch(int m) {
  micro_batch_ = m;
  ranges_.begin_micro_batch(m);
  gradients_.begin_micro_batch();
  load_inputs();
  if (m == 0) fetches_.fetch_freed(-1, m);
  for (OperatorId op = 0; op < operator_count_; ++op) {
    if (!program_needs_.runs[op]) {
      ranges_.leave_out(op);
    } else if (program_needs_.stops[op]) {
      before_operator(op);
      after_operator(op);
    }
  }
  ranges_.close_all(operator_count_);
  gradients_.end_micro_batch();
  ranges_.await(std::exchange(loss_read_, -1));
  ranges_.end_micro_batch();
}

void OperatorWalk::load_inputs() {
  std::int64_t bytes = 0;
  for (const program::Input& input : program_.inputs) bytes += input.tensor.bytes();
  // The compute stream fills in the gradient of the loss, so it is not copied.
  if (options_.training && plan::takes_loss_gradient(plan_.edits)) {
    bytes -= program_.inputs.back().tensor.bytes();
  }
  const TaskId load = tasks_.add({.kind = TaskKind::kLoadInputs,
                                  .stream = Stream::kHostToDevice,
                                  .micro_batch = micro_batch_,
                                  .bytes = bytes},
                                 {ranges_.last_input_reader()});
  ranges_.await(load);
  if (micro_batch_ == 0) first_inputs_ = load;
}

void OperatorWalk::before_operator(OperatorId op) {
  const std::vector<TaskId> fetches = fetches_.awaited_at(position(op));
  for (const TaskId fetch : fetches) await(fetch, op);
  if (op == moments_before_ && micro_batch_ == 0 && updates_after_clipping()) {
    updates_.late_moments(needs_.chunks, fetches);
  }
  for (const std::int32_t chunk : first_reads_at_home(op)) {
    ranges_.close(op);
    ranges_.reads_first(chunk);
  }
  const TaskId copy = copies_.awaited_by(op);
  if (copy >= 0) await(copy, op);
  for (const std::int32_t parameter : program_needs_.gradients_ready[op]) {
    gradients_.make_room(parameter, places_[parameter].chunk, op);
  }
}

void OperatorWalk::await(TaskId task, OperatorId op) {
  ranges_.close(op);
  ranges_.await(task);
}

/// The chunks that `op` reads at home, first in the step, and that another stream may still update
/// for the step before.
std::vector<std::int32_t> OperatorWalk::first_reads_at_home(OperatorId op) const {
  std::vector<std::int32_t> chunks;
  if (!options_.training || micro_batch_ > 0) return chunks;
  for (const std::int32_t parameter : lifetimes_.parameters_used[op]) {
    const std::int32_t c = places_[parameter].chunk;
    const plan::Chunk& chunk = plan_.chunks[c];
    if (needs_.chunks[c].first_use != op || !needs_.chunks[c].trained) continue;
    // State that goes through the device is updated on a stream of its own, too.
    if (plan::needs_block(plan_, chunk) || chunk.optimizer_home != plan::Home::kHost) continue;
    chunks.push_back(c);
  }
  return chunks;
}

void OperatorWalk::after_operator(OperatorId op) {
  const OperatorEnd end{.frees_block = fetches_.frees_at(position(op)),
                        .makes_loss = op == program_needs_.loss_ready,
                        .begins_copy = copies_.begins(op),
                        .gradients_ready = program_needs_.gradients_ready[op],
                        .finished = finished_chunks(op),
                        .frees_gradients = program_needs_.ends_gradients[op]};
  if (end.nothing()) return;
  ranges_.close(op + 1);
  fetches_.fetch_freed(position(op), micro_batch_);
  if (end.makes_loss) read_loss();
  if (end.begins_copy) copies_.begin(op, micro_batch_, ranges_.last());
  for (const std::int32_t parameter : end.gradients_ready) take_gradient(parameter, op);
  for (const std::int32_t chunk : end.finished) {
    if (chunk_tasks_[chunk].gradients_left == 0) updates_.update(chunk);
  }
  gradients_.release_after(op);
}

/// Without clipping, chunks that the step needs no more after `op` may be updated at once.
std::vector<std::int32_t> OperatorWalk::finished_chunks(OperatorId op) const {
  std::vector<std::int32_t> finished;
  if (!options_.training || options_.clip_gradients || !last_micro_batch()) return finished;
  const std::vector<StepNeeds::LastUse>& uses = needs_.last_uses;  // ascending
  auto use = std::lower_bound(uses.begin(), uses.end(), StepNeeds::LastUse{.op = op});
  for (; use != uses.end() && use->op == op; ++use) {
    if (needs_.chunks[use->chunk].trained) finished.push_back(use->chunk);
  }
  return finished;
}

void OperatorWalk::read_loss() {
  loss_read_ = tasks_.add({.kind = TaskKind::kReadLoss,
                           .stream = Stream::kDeviceToHost,
                           .micro_batch = micro_batch_,
                           .bytes = program_.loss.bytes()},
                          {ranges_.last()});
}

/// The gradient of a parameter, which `op` has completed.
void OperatorWalk::take_gradient(std::int32_t parameter, OperatorId op) {
  const std::int32_t chunk = places_[parameter].chunk;
  if (!needs_.chunks[chunk].trained) return gradients_.ignore(parameter);
  const bool is_last = last_micro_batch();
  const TaskId sums_on_host = gradients_.take({.parameter = parameter,
                                               .chunk = chunk,
                                               .micro_batch = micro_batch_,
                                               .made_by = ranges_.last(),
                                               .is_last = is_last,
                                               .sums_squares = options_.clip_gradients && is_last});
  if (sums_on_host >= 0) updates_.sums_on_host(sums_on_host);
  const bool complete = is_last && --chunk_tasks_[chunk].gradients_left == 0;
  // With clipping, every update waits for the last chunk. Without, a chunk that later operators
  // read is updated after the last of them.
  const bool read_later = needs_.chunks[chunk].last_use >= op;
  if (complete && !options_.clip_gradients && !read_later) updates_.update(chunk);
}

/// Every rank's micro-batches have changed the module's buffers: rank 0's count.
void OperatorWalk::share_buffers() {
  if (ranges_.last_buffer_user() < 0) return;
  std::int64_t bytes = 0;
  for (const program::Buffer& buffer : program_.buffers) {
    if (buffer.mutated) bytes += buffer.tensor.bytes();
  }
  const TaskId shared =
      tasks_.add({.kind = TaskKind::kShareBuffers, .stream = Stream::kCollective, .bytes = bytes},
                 {ranges_.last_buffer_user()});
  tasks_.link(ranges_.first_buffer_user(), shared);
}

/// What the first tasks of a step that use something owe to the last ones of the step before.
void OperatorWalk::link_steps() {
  tasks_.link(first_inputs_, ranges_.last_input_reader());
  for (const ChunkTasks& chunk : chunk_tasks_) tasks_.link(chunk.first_reader, chunk.updated);
  fetches_.link_steps();
  copies_.link_steps();
  gradients_.link_steps();
}

}  // namespace elixir::schedule
