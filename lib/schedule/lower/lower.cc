// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Program + plan -> tasks. One walk over the step's operators in order. Whatever must happen between
// two operators (a chunk comes or goes, a gradient leaves, an update) ends the compute range before
// it. What operators need (step_needs), the buffers and the loads of blocks are settled before.

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "schedule/buffers.h"
#include "schedule/loads.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;
using plan::Home;
using program::DType;
using program::OperatorId;
using program::StorageId;

/// Buffers that take turns. A buffer is free again when its last user has finished.
class Ring {
 public:
  Ring() = default;
  explicit Ring(std::vector<BufferId> buffers)
      : buffers_(std::move(buffers)), busy_until_(buffers_.size(), -1) {}

  struct Slot {
    std::size_t index = 0;
    BufferId buffer = -1;
    TaskId free_after = -1;
  };
  Slot take() {
    const std::size_t index = next_;
    next_ = (next_ + 1) % buffers_.size();
    return {.index = index, .buffer = buffers_[index], .free_after = busy_until_[index]};
  }
  void give_back(const Slot& slot, TaskId last_user) { busy_until_[slot.index] = last_user; }

 private:
  std::vector<BufferId> buffers_;
  std::vector<TaskId> busy_until_;
  std::size_t next_ = 0;
};

/// The latest tasks that concern a chunk; -1: none yet.
struct ChunkTasks {
  TaskId fetch = -1;
  TaskId reader = -1;  ///< the compute task with its last use
  TaskId gradients_done = -1;
  int gradients_left = 0;  ///< of the last micro-batch
};

/// A storage that holds gradients, within one micro-batch.
struct GradientStorage {
  int stores_left = 0;  ///< parameters whose gradient still has to be stored from it
  TaskId copy = -1;     ///< the last copy to the host
  bool released = false;
};

/// What one micro-batch has under way.
struct MicroBatch {
  int index = 0;
  OperatorId range_first = 0;  ///< the open compute range starts here
  std::vector<GradientStorage> storages;
  std::vector<StorageId> outstanding;  ///< stored, not yet released
  std::int64_t outstanding_bytes = 0;  ///< of those that are being copied
  TaskId loss_read = -1;
};

class Lowering {
 public:
  Lowering(const program::Program& program,
           const program::Lifetimes& lifetimes,
           const plan::Plan& plan,
           const LoweringOptions& options)
      : program_(program),
        lifetimes_(lifetimes),
        plan_(plan),
        options_(options),
        needs_(step_needs(program, lifetimes, plan, options.training)),
        operator_count_(static_cast<OperatorId>(program.operators.size())),
        tasks_of_(plan.chunks.size()),
        landing_read_(program.parameters.size(), -1) {
    schedule_.training = options.training;
    schedule_.micro_batches = options.training ? plan.accumulation_steps : 1;
    std::vector<bool> trained;
    for (const ChunkNeeds& chunk : needs_.chunks) trained.push_back(chunk.trained);
    buffers_ = chunk_buffers(plan, trained, schedule_.micro_batches);
    add_tensor_buffers(buffers_.all, program, lifetimes);
    schedule_.buffers = std::move(buffers_.all);
    loads_ = choose_loads(lifetimes, plan, needs_, buffers_, schedule_.micro_batches);
    by_free_ = by_freedom(loads_);
    for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
      tasks_of_[c].gradients_left = needs_.chunks[c].gradients;
    }
    for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      gradient_staging_[side] = Ring(buffers_.gradient_staging[side]);
      parameter_staging_[side] = Ring(buffers_.parameter_staging[side]);
    }
  }

  Schedule run() {
    for (int m = 0; m < schedule_.micro_batches; ++m) lower_micro_batch(m);
    if (options_.training && options_.clip_gradients) clip_and_update();
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] const Chunk& chunk_at(std::int32_t chunk) const { return plan_.chunks[chunk]; }
  [[nodiscard]] std::int64_t position(OperatorId op) const {
    return static_cast<std::int64_t>(now_.index) * operator_count_ + op;
  }
  [[nodiscard]] bool last_micro_batch() const { return now_.index + 1 == schedule_.micro_batches; }

  // --- Tasks -------------------------------------------------------------------------------------

  TaskId add(Task task, std::vector<TaskId> after) {
    task.id = static_cast<TaskId>(schedule_.tasks.size());
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    for (const TaskId before : after) {
      // A stream keeps its own order.
      if (before >= 0 && schedule_.tasks[before].stream != task.stream) {
        task.after.push_back(before);
      }
    }
    schedule_.tasks.push_back(std::move(task));
    return schedule_.tasks.back().id;
  }

  /// Emits the open range up to `end` as a compute task, unless no executed operator is in it.
  void close_range(OperatorId end) {
    for (OperatorId op = now_.range_first; op < end; ++op) {
      if (needs_.executed[op]) return emit_range(end);
    }
  }

  void emit_range(OperatorId end) {
    Task task{.kind = TaskKind::kCompute,
              .stream = Stream::kCompute,
              .micro_batch = now_.index,
              .first = now_.range_first,
              .last = end,
              .releases = std::exchange(pending_releases_, {})};
    std::sort(task.releases.begin(), task.releases.end());
    last_compute_ = add(std::move(task), std::exchange(pending_after_, {}));
    for (OperatorId op = now_.range_first; op < end; ++op) {
      for (const std::int32_t chunk : needs_.operators[op].chunks_last_used) {
        tasks_of_[chunk].reader = last_compute_;
      }
    }
    now_.range_first = end;
  }

  void lower_micro_batch(int m) {
    now_ = {.index = m, .storages = std::vector<GradientStorage>(program_.storages.size())};
    for (std::size_t s = 0; s < now_.storages.size(); ++s) {
      now_.storages[s].stores_left = needs_.gradients_in[s];
    }
    load_inputs();
    if (m == 0) fetch_freed(-1);
    for (OperatorId op = 0; op < operator_count_; ++op) {
      if (!needs_.runs[op]) {
        if (now_.range_first < op) emit_range(op);
        now_.range_first = op + 1;
        continue;
      }
      if (!needs_.executed[op]) continue;
      require_chunks(op);
      after_operator(op);
    }
    const bool ends_open = operator_count_ > 0 && needs_.runs[operator_count_ - 1] &&
                           now_.range_first < operator_count_;
    if (ends_open) emit_range(operator_count_);
    end_micro_batch();
  }

  void load_inputs() {
    std::int64_t bytes = 0;
    for (const program::Input& input : program_.inputs) bytes += input.tensor.bytes();
    pending_after_.push_back(add({.kind = TaskKind::kLoadInputs,
                                  .stream = Stream::kHostToDevice,
                                  .micro_batch = now_.index,
                                  .bytes = bytes},
                                 {last_compute_}));
  }

  /// A range that uses a chunk fetched since its last use starts here and waits for the fetch.
  void require_chunks(OperatorId op) {
    const std::int64_t here = position(op);
    if (next_needed_ == loads_.size() || loads_[next_needed_].needed_at != here) return;
    close_range(op);
    for (; next_needed_ < loads_.size() && loads_[next_needed_].needed_at == here; ++next_needed_) {
      require(loads_[next_needed_].fetch >= 0, "a chunk is needed before its fetch is issued");
      pending_after_.push_back(loads_[next_needed_].fetch);
    }
  }

  [[nodiscard]] bool frees_block(std::int64_t here) const {
    return next_freed_ < by_free_.size() && loads_[by_free_[next_freed_]].free_after == here;
  }

  /// Issues the fetches whose block is free once position `here` has run.
  void fetch_freed(std::int64_t here) {
    for (; frees_block(here); ++next_freed_) {
      Load& load = loads_[by_free_[next_freed_]];
      TaskId evicted = -1;
      if (load.victim >= 0) {
        evicted = add({.kind = TaskKind::kEvict,
                       .stream = Stream::kCompute,
                       .micro_batch = now_.index,
                       .chunk = load.victim,
                       .source = load.block},
                      {});
      }
      load.fetch = add({.kind = TaskKind::kFetch,
                        .stream = Stream::kHostToDevice,
                        .micro_batch = now_.index,
                        .chunk = load.chunk,
                        .source = buffers_.of_chunk[load.chunk].parameters,
                        .destination = load.block,
                        .bytes = chunk_at(load.chunk).bytes},
                       {evicted});
      tasks_of_[load.chunk].fetch = load.fetch;
    }
  }

  /// Without clipping, chunks that the step needs no more after `op` may be updated at once.
  [[nodiscard]] std::vector<std::int32_t> finished_chunks(OperatorId op) const {
    std::vector<std::int32_t> finished;
    if (!options_.training || options_.clip_gradients || !last_micro_batch()) return finished;
    for (const std::int32_t chunk : needs_.operators[op].chunks_last_used) {
      if (needs_.chunks[chunk].trained) finished.push_back(chunk);
    }
    return finished;
  }

  void after_operator(OperatorId op) {
    const OperatorNeeds& needs = needs_.operators[op];
    const std::vector<std::int32_t> finished = finished_chunks(op);
    if (!frees_block(position(op)) && op != needs_.loss_ready && needs.gradients_ready.empty() &&
        needs.gradients_last_used.empty() && finished.empty()) {
      return;
    }
    close_range(op + 1);
    fetch_freed(position(op));
    if (op == needs_.loss_ready) read_loss();
    for (const std::int32_t parameter : needs.gradients_ready) {
      const std::int32_t chunk = needs_.places[parameter].chunk;
      if (needs_.chunks[chunk].trained) {
        store_gradient(parameter);
        const bool complete = last_micro_batch() && --tasks_of_[chunk].gradients_left == 0;
        if (complete) complete_gradients(chunk, op);
      }
      await_release(program_.parameters[parameter].gradient->storage);
    }
    for (const std::int32_t chunk : finished) {
      if (tasks_of_[chunk].gradients_left == 0) update(chunk);
    }
    join(op);
  }

  void read_loss() {
    now_.loss_read = add({.kind = TaskKind::kReadLoss,
                          .stream = Stream::kDeviceToHost,
                          .micro_batch = now_.index,
                          .bytes = program_.loss.bytes()},
                         {last_compute_});
  }

  // --- Gradients ---------------------------------------------------------------------------------

  void store_gradient(std::int32_t parameter) {
    const std::int32_t c = needs_.places[parameter].chunk;
    const Chunk& chunk = chunk_at(c);
    const program::TensorRef& gradient = *program_.parameters[parameter].gradient;
    const ChunkBuffers& mine = buffers_.of_chunk[c];
    const bool to_host = chunk.gradient_home == Home::kHost;
    const bool lands = mine.landing >= 0;
    const bool adds = now_.index > 0;
    const std::int64_t sum_bytes =
        gradient.numel() * program::element_bytes(chunk.gradient_dtype) * (adds ? 2 : 1);
    // Over a link the gradient's bytes; on the device what the pass reads and writes.
    TaskId done = add({.kind = TaskKind::kStoreGradient,
                       .stream = to_host ? Stream::kDeviceToHost : Stream::kCompute,
                       .micro_batch = now_.index,
                       .chunk = c,
                       .parameter = parameter,
                       .destination = lands ? mine.landing : mine.gradients,
                       .bytes = gradient.bytes() + (to_host ? 0 : sum_bytes)},
                      {last_compute_, landing_read_[parameter]});
    if (to_host) now_.storages[gradient.storage].copy = done;
    if (lands) {
      done = add({.kind = TaskKind::kAccumulate,
                  .stream = Stream::kCpu,
                  .micro_batch = now_.index,
                  .chunk = c,
                  .parameter = parameter,
                  .source = mine.landing,
                  .destination = mine.gradients,
                  .bytes = gradient.bytes() + sum_bytes},
                 {done});
      landing_read_[parameter] = done;
    }
    tasks_of_[c].gradients_done = done;
  }

  void await_release(StorageId storage) {
    if (--now_.storages[storage].stores_left > 0) return;
    now_.outstanding.push_back(storage);
    if (now_.storages[storage].copy >= 0) now_.outstanding_bytes += bytes_of(storage);
  }

  [[nodiscard]] std::int64_t bytes_of(StorageId storage) const {
    return program_.storages[storage].bytes;
  }

  /// Lets gradients go that nobody needs any more: at once when no copy is under way; else, oldest
  /// first, those that the window has no room for, and the next range waits for their copies.
  void join(OperatorId op) {
    std::vector<StorageId> kept;
    for (const StorageId storage : now_.outstanding) {
      const TaskId copy = now_.storages[storage].copy;
      const bool over = now_.outstanding_bytes > plan_.cache.gradient_window_bytes;
      if (lifetimes_.storages[storage].last_use > op || (copy >= 0 && !over)) {
        kept.push_back(storage);
        continue;
      }
      if (copy >= 0) {
        pending_after_.push_back(copy);
        now_.outstanding_bytes -= bytes_of(storage);
      }
      release(storage);
    }
    now_.outstanding = std::move(kept);
  }

  void release(StorageId storage) {
    pending_releases_.push_back(storage);
    now_.storages[storage].released = true;
  }

  void end_micro_batch() {
    for (const StorageId storage : now_.outstanding) {
      pending_after_.push_back(now_.storages[storage].copy);
      release(storage);
    }
    if (now_.loss_read >= 0) pending_after_.push_back(now_.loss_read);
    // What is left: the loss, and in a forward-only schedule whatever backward would have used.
    for (const program::Storage& storage : program_.storages) {
      const program::StorageUse& use = lifetimes_.storages[storage.id];
      const bool made = use.origin == program::Origin::kProduced && use.producer >= 0 &&
                        needs_.runs[use.producer];
      if (!made || now_.storages[storage.id].released) continue;
      const bool kept = !needs_.runs[use.last_use] || storage.id == program_.loss.storage ||
                        needs_.gradients_in[storage.id] > 0;
      if (kept) release(storage.id);
    }
    emit_range(now_.range_first);
  }

  // --- Updates -----------------------------------------------------------------------------------

  void complete_gradients(std::int32_t chunk, OperatorId op) {
    completed_.push_back(chunk);
    if (!options_.clip_gradients) {
      if (needs_.chunks[chunk].last_use < op) update(chunk);
      return;
    }
    const Chunk& it = chunk_at(chunk);
    const bool on_device = it.gradient_home == Home::kDevice;
    norms_.push_back(add({.kind = TaskKind::kGradientNorm,
                          .stream = on_device ? Stream::kCompute : Stream::kCpu,
                          .micro_batch = now_.index,
                          .chunk = chunk,
                          .source = buffers_.of_chunk[chunk].gradients,
                          .bytes = plan::bytes_as(it, it.gradient_dtype)},
                         {tasks_of_[chunk].gradients_done}));
  }

  void clip_and_update() {
    clip_ = add({.kind = TaskKind::kClip, .stream = Stream::kCpu}, norms_);
    for (const std::int32_t chunk : completed_) update(chunk);
  }

  /// Gradients to the optimizer's home where they live elsewhere, the pass, and the updated
  /// parameters to theirs.
  void update(std::int32_t chunk) {
    const Chunk& it = chunk_at(chunk);
    const ChunkBuffers& mine = buffers_.of_chunk[chunk];
    const bool on_device = it.optimizer_home == Home::kDevice;
    const auto side = static_cast<std::size_t>(it.optimizer_home);
    const std::int64_t gradient_bytes = plan::bytes_as(it, it.gradient_dtype);
    const bool moves_gradients = it.gradient_home != it.optimizer_home;
    const bool moves_parameters = it.parameter_home != it.optimizer_home;
    const bool stages_parameters = moves_parameters && it.dtype != DType::kFloat32;
    const TaskId gradients_done = tasks_of_[chunk].gradients_done;
    // Whoever writes the parameters' home waits for its readers: fetches, or operators on the
    // device.
    const TaskId readers =
        it.parameter_home == Home::kHost ? tasks_of_[chunk].fetch : tasks_of_[chunk].reader;

    Task step{.kind = TaskKind::kUpdate,
              .stream = on_device ? Stream::kCompute : Stream::kCpu,
              .micro_batch = -1,
              .chunk = chunk,
              .source = mine.gradients};
    std::vector<TaskId> after = {gradients_done, clip_};
    Ring::Slot gradients, parameters;
    if (moves_gradients) {
      gradients = gradient_staging_[side].take();
      step.source = gradients.buffer;
      after.push_back(add({.kind = TaskKind::kMoveGradients,
                           .stream = on_device ? Stream::kHostToDevice : Stream::kDeviceToHost,
                           .chunk = chunk,
                           .source = mine.gradients,
                           .destination = gradients.buffer,
                           .bytes = gradient_bytes},
                          {gradients_done, gradients.free_after}));
    }
    if (stages_parameters) {
      parameters = parameter_staging_[side].take();
      step.destination = parameters.buffer;
      after.push_back(parameters.free_after);
    } else {
      step.destination = moves_parameters ? mine.master : mine.parameters;
      if (!moves_parameters) after.push_back(readers);
    }
    // Master and both moments are read and written, the gradient read, the parameters written.
    const std::int64_t elements = it.bytes / program::element_bytes(it.dtype);
    step.bytes = elements * 24 + gradient_bytes + (mine.master == step.destination ? 0 : it.bytes);
    const BufferId updated_parameters = step.destination;
    const TaskId updated = add(std::move(step), std::move(after));
    if (moves_gradients) gradient_staging_[side].give_back(gradients, updated);
    if (!moves_parameters) return;
    const TaskId moved = add({.kind = TaskKind::kMoveParameters,
                              .stream = on_device ? Stream::kDeviceToHost : Stream::kHostToDevice,
                              .chunk = chunk,
                              .source = updated_parameters,
                              .destination = mine.parameters,
                              .bytes = it.bytes},
                             {updated, readers});
    if (stages_parameters) parameter_staging_[side].give_back(parameters, moved);
  }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const plan::Plan& plan_;
  const LoweringOptions& options_;
  const StepNeeds needs_;
  StepBuffers buffers_;
  const OperatorId operator_count_;
  Schedule schedule_;

  std::vector<ChunkTasks> tasks_of_;  // by chunk
  std::vector<TaskId> landing_read_;  // by parameter: who last read its landing place
  Ring gradient_staging_[2], parameter_staging_[2];  // by optimizer home

  std::vector<Load> loads_;           // by position of need
  std::vector<std::size_t> by_free_;  // loads_ by position at which the block is free
  std::size_t next_needed_ = 0, next_freed_ = 0;

  MicroBatch now_;
  std::vector<TaskId> pending_after_;        // of the next compute task
  std::vector<StorageId> pending_releases_;  // likewise
  std::vector<std::int32_t> completed_;  // chunks, in the order in which gradients were complete
  std::vector<TaskId> norms_;
  TaskId last_compute_ = -1, clip_ = -1;
};

/// Tasks, loads and their bookkeeping grow with the calls of a whole step.
void check_size(const program::Program& program, int micro_batches) {
  constexpr std::int64_t kMostCalls = std::int64_t{1} << 24;
  const auto calls = static_cast<std::int64_t>(program.operators.size());
  if (calls == 0 || micro_batches <= kMostCalls / calls) return;
  throw Error(ErrorCode::kInconsistentPlan,
              "{} micro-batches of {} calls are more than the {} calls that a schedule "
              "may have",
              micro_batches,
              calls,
              kMostCalls)
      .help("use fewer accumulation steps and larger micro-batches");
}

}  // namespace

Schedule lower(const program::Program& program,
               const program::Lifetimes& lifetimes,
               const plan::Plan& plan,
               const LoweringOptions& options) {
  if (options.training) check_size(program, plan.accumulation_steps);
  return Lowering(program, lifetimes, plan, options).run();
}

}  // namespace elixir::schedule
