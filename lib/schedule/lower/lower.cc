// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Program + plan -> tasks. One walk over the step's operators in order. Whatever must happen between
// two operators (a chunk, an activation or a gradient comes or goes, an update) ends the compute range before
// it. What operators need (step_needs), the buffers and the loads of blocks are settled before.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "schedule/buffers/buffers.h"
#include "schedule/buffers/gradient_blocks.h"
#include "schedule/loads/loads.h"
#include "schedule/lower/activation_copies.h"
#include "schedule/lower/gradients/gradient_turns.h"
#include "schedule/lower/gradients/landing_ring.h"
#include "schedule/lower/gradients/reductions.h"
#include "schedule/lower/task_list.h"
#include "schedule/lower/updates/updates.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"
#include "schedule/task_sink.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;
using plan::Home;
using program::OperatorId;
using program::StorageId;

/// A storage that holds gradients, within one micro-batch.
struct GradientStorage {
  int stores_left = 0;  ///< parameters whose gradient still has to be stored from it
  TaskId copy = -1;     ///< the last copy to the host
  bool released = false;
};

/// The operators since the last task: they become one when something must happen after them.
struct OpenRange {
  OperatorId first = 0;
  std::vector<TaskId> after;
  std::vector<StorageId> releases;
  /// Chunks that it reads at home, where another stream brought the updated parameters.
  std::vector<std::int32_t> first_reads;
};

/// What one micro-batch has under way.
struct MicroBatch {
  int index = 0;
  OpenRange range;
  std::vector<GradientStorage> storages;
  // Gradients that are stored and not yet released, oldest first.
  std::vector<StorageId> stored;   ///< on the device
  std::vector<StorageId> copying;  ///< on their way to the host
  std::int64_t copying_bytes = 0;
  TaskId loss_read = -1;
  std::vector<int> gradients_left;  ///< by chunk
};

/// A block of the cache, or of a private chunk, in one step.
struct BlockUse {
  TaskId first_load = -1;
  std::int32_t holds = -1;  ///< the chunk that came last
};

/// What happens once an operator has run, before the next one does.
struct OperatorEnd {
  std::span<const std::int32_t> gradients_ready;
  bool frees_block = false;
  bool makes_loss = false;
  bool frees_gradients = false;
  bool begins_copy = false;
  std::vector<std::int32_t> finished;  ///< chunks that may be updated now

  [[nodiscard]] bool nothing() const {
    return !frees_block && !makes_loss && gradients_ready.empty() && !frees_gradients &&
           !begins_copy && finished.empty();
  }
};

StepBuffers step_buffers(const program::Program& program,
                         const program::Lifetimes& lifetimes,
                         const plan::Plan& plan,
                         const std::vector<plan::Place>& places,
                         const ProgramNeeds& program_needs,
                         const StepNeeds& needs,
                         int micro_batches) {
  std::vector<bool> trained;
  for (const ChunkNeeds& chunk : needs.chunks) trained.push_back(chunk.trained);
  StepBuffers buffers = chunk_buffers(plan,
                                      trained,
                                      micro_batches,
                                      gradient_blocks(plan, places, program_needs, trained),
                                      shared_gradients(plan, places, program_needs, needs.chunks));
  add_tensor_buffers(buffers.all, program, lifetimes);
  if (std::find(trained.begin(), trained.end(), true) != trained.end()) {
    const SumsBuffers sums = add_gradient_sums(buffers.all, program, plan.world);
    buffers.rank_sums = sums.of_rank;
    buffers.gradient_sums = sums.of_all;
  }
  return buffers;
}

std::vector<ChunkTasks> no_tasks_yet(const StepNeeds& needs) {
  std::vector<ChunkTasks> chunks;
  for (const ChunkNeeds& chunk : needs.chunks)
    chunks.push_back({.gradients_left = chunk.gradients});
  return chunks;
}

class Lowering {
 public:
  Lowering(TaskSink& sink,
           const program::Program& program,
           const program::Lifetimes& lifetimes,
           const ProgramNeeds& program_needs,
           const plan::Plan& plan,
           const std::vector<plan::Place>& places,
           const LoweringOptions& options)
      : program_(program),
        lifetimes_(lifetimes),
        plan_(plan),
        options_(options),
        micro_batches_(options.training ? plan.accumulation_steps : 1),
        operator_count_(static_cast<OperatorId>(program.operators.size())),
        program_needs_(program_needs),
        places_(places),
        needs_(step_needs(program, lifetimes, program_needs, plan, places)),
        tasks_(sink),
        buffers_(
            step_buffers(program, lifetimes, plan, places, program_needs, needs_, micro_batches_)),
        chunk_tasks_(no_tasks_yet(needs_)),
        landing_(buffers_),
        turns_(buffers_, chunk_tasks_),
        copies_(program, program_needs.movements, buffers_, tasks_),
        loads_(
            choose_loads(lifetimes, program_needs, plan, places, needs_, buffers_, micro_batches_)),
        reductions_(plan, buffers_, chunk_tasks_, landing_, turns_, tasks_),
        updates_(plan, buffers_, chunk_tasks_, tasks_) {
    require(!options.clip_gradients || !shares_gradients(plan),
            "the plan has no room for all gradients at once, as clipping needs them");
    sink.begin(buffers_.all);
  }

  void run() {
    for (int m = 0; m < micro_batches_; ++m) lower_micro_batch(m);
    if (options_.training && options_.clip_gradients) updates_.clip_and_update(needs_.chunks);
    updates_.finish();
    if (options_.training && plan_.world > 1) share_buffers();
    link_steps();
    tasks_.end();
  }

 private:
  [[nodiscard]] std::int64_t position(OperatorId op) const {
    return static_cast<std::int64_t>(now_.index) * operator_count_ + op;
  }
  [[nodiscard]] bool last_micro_batch() const { return now_.index + 1 == micro_batches_; }

  /// Emits the open range up to `end` as a compute task, unless no executed operator is in it.
  void close_range(OperatorId end) {
    for (OperatorId op = now_.range.first; op < end; ++op) {
      if (program_needs_.executed[op]) return emit_range(end);
    }
  }

  void emit_range(OperatorId end) {
    OpenRange& range = now_.range;
    std::sort(range.releases.begin(), range.releases.end());
    last_compute_ = tasks_.add({.kind = TaskKind::kCompute,
                                .stream = Stream::kCompute,
                                .micro_batch = now_.index,
                                .first = range.first,
                                .last = end,
                                .releases = std::exchange(range.releases, {})},
                               range.after);
    const auto contains = [&](OperatorId op) { return range.first <= op && op < end; };
    if (now_.index == 0 && contains(program_needs_.buffers_first_use)) {
      first_buffer_user_ = last_compute_;
    }
    if (contains(program_needs_.buffers_last_use)) last_buffer_user_ = last_compute_;
    const OperatorId read = program_needs_.inputs_last_read;
    if (contains(read)) last_input_reader_ = last_compute_;
    range.first = end;
    range.after.clear();
    while (next_last_use_ < needs_.last_uses.size() && needs_.last_uses[next_last_use_].op < end) {
      chunk_tasks_[needs_.last_uses[next_last_use_++].chunk].reader = last_compute_;
    }
    for (const std::int32_t chunk : range.first_reads) {
      chunk_tasks_[chunk].first_reader = last_compute_;
    }
    range.first_reads.clear();
  }

  void lower_micro_batch(int m) {
    now_ = {.index = m, .storages = std::vector<GradientStorage>(program_.storages.size())};
    for (std::size_t s = 0; s < now_.storages.size(); ++s) {
      now_.storages[s].stores_left = program_needs_.gradients_in[s];
    }
    for (const ChunkNeeds& chunk : needs_.chunks) now_.gradients_left.push_back(chunk.gradients);
    next_last_use_ = 0;
    load_inputs();
    if (m == 0) fetch_freed(-1);
    for (OperatorId op = 0; op < operator_count_; ++op) {
      if (!program_needs_.runs[op]) {
        if (now_.range.first < op) emit_range(op);
        now_.range.first = op + 1;
        continue;
      }
      if (!program_needs_.stops[op]) continue;
      require_chunks(op);
      await_updates(op);
      await_copy(op);
      after_operator(op);
    }
    const bool ends_open = operator_count_ > 0 && program_needs_.runs[operator_count_ - 1] &&
                           now_.range.first < operator_count_;
    if (ends_open) emit_range(operator_count_);
    end_micro_batch();
  }

  void load_inputs() {
    std::int64_t bytes = 0;
    for (const program::Input& input : program_.inputs) bytes += input.tensor.bytes();
    const TaskId load = tasks_.add({.kind = TaskKind::kLoadInputs,
                                    .stream = Stream::kHostToDevice,
                                    .micro_batch = now_.index,
                                    .bytes = bytes},
                                   {last_input_reader_});
    now_.range.after.push_back(load);
    if (now_.index == 0) first_load_ = load;
  }

  /// A range that uses a chunk fetched since its last use starts here and waits for the fetch.
  void require_chunks(OperatorId op) {
    const std::int64_t here = position(op);
    if (!loads_.needs_at(here)) return;
    close_range(op);
    while (loads_.needs_at(here)) {
      const Load& load = loads_.next_needed();
      require(load.loaded >= 0, "a chunk is needed before its load is issued");
      now_.range.after.push_back(load.loaded);
    }
  }

  /// The first range of a step that reads a chunk at home, where another stream brought it, starts
  /// here: it waits for the step before.
  void await_updates(OperatorId op) {
    if (!options_.training || now_.index > 0) return;
    for (const std::int32_t parameter : lifetimes_.parameters_used[op]) {
      const std::int32_t c = places_[parameter].chunk;
      const Chunk& chunk = plan_.chunks[c];
      if (needs_.chunks[c].first_use != op || !needs_.chunks[c].trained) continue;
      // State that goes through the device is updated on a stream of its own, too.
      if (plan::needs_block(plan_, chunk) || chunk.optimizer_home != Home::kHost) continue;
      close_range(op);
      now_.range.first_reads.push_back(c);
    }
  }

  /// A range that begins with the end of a copy waits for it.
  void await_copy(OperatorId op) {
    const TaskId copy = copies_.awaited_by(op);
    if (copy < 0) return;
    close_range(op);
    now_.range.after.push_back(copy);
  }

  /// Issues the loads whose block is free once position `here` has run.
  void fetch_freed(std::int64_t here) {
    while (loads_.frees_at(here)) {
      Load& load = loads_.next_freed();
      TaskId evicted = -1;
      if (load.victim >= 0) {
        evicted = tasks_.add({.kind = TaskKind::kEvict,
                              .stream = Stream::kCompute,
                              .micro_batch = now_.index,
                              .chunk = load.victim,
                              .source = load.block},
                             {});
      }
      issue(load, evicted);
    }
  }

  /// From the host over the link; from the other ranks' shards after that.
  void issue(Load& load, TaskId evicted) {
    const Chunk& chunk = plan_.chunks[load.chunk];
    const BufferId home = buffers_.of_chunk[load.chunk].parameters;
    const bool from_host = chunk.parameter_home == Home::kHost;
    TaskId fetched = -1;
    if (from_host) {
      fetched = load.loaded = tasks_.add({.kind = TaskKind::kFetch,
                                          .stream = Stream::kHostToDevice,
                                          .micro_batch = now_.index,
                                          .chunk = load.chunk,
                                          .source = home,
                                          .destination = load.block,
                                          .bytes = plan::shard_bytes(plan_, chunk, chunk.dtype)},
                                         {evicted});
    }
    if (plan::grid_of(plan_).shards() > 1) {
      load.loaded = tasks_.add({.kind = TaskKind::kGather,
                                .stream = Stream::kCollective,
                                .micro_batch = now_.index,
                                .chunk = load.chunk,
                                .source = from_host ? -1 : home,
                                .destination = load.block,
                                .bytes = chunk.bytes},
                               {evicted, fetched});
    }
    ChunkTasks& tasks = chunk_tasks_[load.chunk];
    tasks.home_read = from_host ? fetched : load.loaded;
    if (tasks.first_home_read < 0) tasks.first_home_read = tasks.home_read;
    BlockUse& block = block_uses_[load.block];
    if (block.first_load < 0) block.first_load = tasks.home_read;
    block.holds = load.chunk;
  }

  /// Every rank's micro-batches have changed the module's buffers: rank 0's count.
  void share_buffers() {
    std::int64_t bytes = 0;
    for (const program::Buffer& buffer : program_.buffers) {
      if (buffer.mutated) bytes += buffer.tensor.bytes();
    }
    if (last_buffer_user_ < 0) return;
    const TaskId shared =
        tasks_.add({.kind = TaskKind::kShareBuffers, .stream = Stream::kCollective, .bytes = bytes},
                   {last_buffer_user_});
    tasks_.link(first_buffer_user_, shared);
  }

  /// What the first tasks of a step that use something owe to the last ones of the step before.
  void link_steps() {
    tasks_.link(first_load_, last_input_reader_);
    for (const ChunkTasks& chunk : chunk_tasks_) {
      tasks_.link(chunk.first_home_read, chunk.updated);
      tasks_.link(chunk.first_reader, chunk.updated);
      tasks_.link(chunk.first_store, chunk.gradients_read);
    }
    for (const auto& [block, use] : block_uses_) {
      tasks_.link(use.first_load, chunk_tasks_[use.holds].reader);
    }
    landing_.link_steps(tasks_);
    turns_.link_steps(tasks_);
    reductions_.link_steps();
    copies_.link_steps();
  }

  /// Without clipping, chunks that the step needs no more after `op` may be updated at once.
  [[nodiscard]] std::vector<std::int32_t> finished_chunks(OperatorId op) const {
    std::vector<std::int32_t> finished;
    if (!options_.training || options_.clip_gradients || !last_micro_batch()) return finished;
    // Those of earlier ranges are behind.
    for (std::size_t i = next_last_use_; i < needs_.last_uses.size(); ++i) {
      const StepNeeds::LastUse& last = needs_.last_uses[i];
      if (last.op > op) break;
      if (last.op == op && needs_.chunks[last.chunk].trained) finished.push_back(last.chunk);
    }
    return finished;
  }

  void after_operator(OperatorId op) {
    const OperatorEnd end{.gradients_ready = program_needs_.gradients_ready[op],
                          .frees_block = loads_.frees_at(position(op)),
                          .makes_loss = op == program_needs_.loss_ready,
                          .frees_gradients = program_needs_.ends_gradients[op],
                          .begins_copy = copies_.begins(op),
                          .finished = finished_chunks(op)};
    if (end.nothing()) return;
    close_range(op + 1);
    fetch_freed(position(op));
    if (end.makes_loss) read_loss();
    if (end.begins_copy) copies_.begin(op, now_.index, last_compute_);
    for (const std::int32_t parameter : end.gradients_ready) {
      const std::int32_t chunk = places_[parameter].chunk;
      if (needs_.chunks[chunk].trained) {
        if (plan_.world > 1) {
          collect_gradient(parameter);
        } else {
          store_gradient(parameter);
        }
        const bool complete = last_micro_batch() && --chunk_tasks_[chunk].gradients_left == 0;
        if (complete) complete_gradients(chunk, op);
      }
      await_release(program_.parameters[parameter].gradient->storage);
    }
    for (const std::int32_t chunk : end.finished) {
      if (chunk_tasks_[chunk].gradients_left == 0) updates_.update(chunk);
    }
    release_gradients(op);
  }

  /// After the chunk's last gradient. With clipping, every update waits for the last chunk. Without,
  /// a chunk that later operators read is updated after the last of them.
  void complete_gradients(std::int32_t chunk, OperatorId op) {
    if (options_.clip_gradients || needs_.chunks[chunk].last_use >= op) return;
    updates_.update(chunk);
  }

  void read_loss() {
    now_.loss_read = tasks_.add({.kind = TaskKind::kReadLoss,
                                 .stream = Stream::kDeviceToHost,
                                 .micro_batch = now_.index,
                                 .bytes = program_.loss.bytes()},
                                {last_compute_});
  }

  // --- Gradients ---------------------------------------------------------------------------------

  void store_gradient(std::int32_t parameter) {
    const std::int32_t c = places_[parameter].chunk;
    const Chunk& chunk = plan_.chunks[c];
    const program::TensorRef& gradient = *program_.parameters[parameter].gradient;
    const ChunkBuffers& mine = buffers_.of_chunk[c];
    const bool to_host = chunk.gradient_home == Home::kHost;
    const bool lands = to_host && !buffers_.landing.empty();
    const bool adds = now_.index > 0;
    const std::int64_t elements = program_needs_.gradient_elements[parameter];
    const std::int64_t sum_bytes =
        elements * program::element_bytes(chunk.gradient_dtype) * (adds ? 2 : 1);
    const std::int64_t gradient_bytes = elements * program::element_bytes(gradient.dtype);
    const bool sums_squares = options_.clip_gradients && last_micro_batch();
    if (sums_squares && to_host && !lands) {
      tasks_.add({.kind = TaskKind::kGradientNorm,
                  .stream = Stream::kCompute,
                  .micro_batch = now_.index,
                  .chunk = c,
                  .parameter = parameter,
                  .destination = buffers_.gradient_sums,
                  .bytes = gradient_bytes},
                 {last_compute_});
    }
    LandingRing::Place place;
    if (lands) place = landing_.take(c, now_.index);
    // Over a link the gradient's bytes; on the device what the pass reads and writes.
    TaskId done = tasks_.add({.kind = TaskKind::kStoreGradient,
                              .stream = to_host ? Stream::kDeviceToHost : Stream::kCompute,
                              .micro_batch = now_.index,
                              .chunk = c,
                              .parameter = parameter,
                              .destination = lands ? place.slot.buffer : mine.gradients,
                              .bytes = gradient_bytes + (to_host ? 0 : sum_bytes),
                              .sums_squares = sums_squares && !to_host},
                             {last_compute_, place.free_after, turns_.take(c)});
    ChunkTasks& tasks = chunk_tasks_[c];
    if (to_host) now_.storages[gradient.storage].copy = done;
    if (lands) {
      const TaskId stored = done;
      done = tasks_.add({.kind = TaskKind::kAccumulate,
                         .stream = Stream::kCpu,
                         .micro_batch = now_.index,
                         .chunk = c,
                         .parameter = parameter,
                         .source = place.slot.buffer,
                         .destination = mine.gradients,
                         .bytes = gradient_bytes + sum_bytes,
                         .sums_squares = sums_squares},
                        {stored});
      landing_.give_back(place, stored, done);
      if (sums_squares) updates_.sums_on_host(done);
    }
    if (tasks.first_store < 0) tasks.first_store = done;
    tasks.gradients_done = done;
  }

  void collect_gradient(std::int32_t parameter) {
    const std::int32_t chunk = places_[parameter].chunk;
    const program::DType dtype = plan_.chunks[chunk].dtype;
    const std::int64_t elements = program_needs_.gradient_elements[parameter];
    const bool once = plan::reduces_once(plan_);
    const std::int64_t kept_bytes =
        elements * program::element_bytes(plan::exchanged_dtype(plan_, dtype));
    reductions_.collect({.kind = TaskKind::kStoreGradient,
                         .stream = Stream::kCompute,
                         .micro_batch = now_.index,
                         .chunk = chunk,
                         .parameter = parameter,
                         .bytes = elements * program::element_bytes(dtype) +
                                  kept_bytes * (once && now_.index > 0 ? 2 : 1)},
                        last_compute_);
    if (--now_.gradients_left[chunk] > 0 || (once && !last_micro_batch())) return;
    const TaskId on_host =
        reductions_.reduce(chunk, now_.index, options_.clip_gradients && last_micro_batch());
    if (on_host >= 0) updates_.sums_on_host(on_host);
  }

  void await_release(StorageId storage) {
    if (--now_.storages[storage].stores_left > 0) return;
    const bool copies = now_.storages[storage].copy >= 0;
    (copies ? now_.copying : now_.stored).push_back(storage);
    if (copies) now_.copying_bytes += bytes_of(storage);
  }

  [[nodiscard]] std::int64_t bytes_of(StorageId storage) const {
    return program_.storages[storage].bytes;
  }

  /// Lets gradients go that nobody needs any more: at once when no copy is under way; else, oldest
  /// first, those that the window has no room for, and the next range waits for their copies.
  void release_gradients(OperatorId op) {
    const auto needed = [&](StorageId storage) {
      return lifetimes_.storages[storage].last_use > op;
    };
    std::erase_if(now_.stored, [&](StorageId storage) {
      if (!needed(storage)) release(storage);
      return !needed(storage);
    });
    auto next = now_.copying.begin();
    while (next != now_.copying.end() && now_.copying_bytes > plan_.cache.gradient_window_bytes) {
      if (needed(*next)) {
        ++next;
        continue;
      }
      now_.range.after.push_back(now_.storages[*next].copy);
      now_.copying_bytes -= bytes_of(*next);
      release(*next);
      next = now_.copying.erase(next);
    }
  }

  void release(StorageId storage) {
    now_.range.releases.push_back(storage);
    now_.storages[storage].released = true;
  }

  void end_micro_batch() {
    for (const StorageId storage : now_.stored) release(storage);
    for (const StorageId storage : now_.copying) {
      now_.range.after.push_back(now_.storages[storage].copy);
      release(storage);
    }
    if (now_.loss_read >= 0) now_.range.after.push_back(now_.loss_read);
    // What is left: the loss, and in a forward-only schedule whatever backward would have used.
    for (const StorageId storage : program_needs_.left_over) {
      if (!now_.storages[storage].released) release(storage);
    }
    emit_range(now_.range.first);
  }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const plan::Plan& plan_;
  const LoweringOptions& options_;
  const int micro_batches_;
  const OperatorId operator_count_;
  const ProgramNeeds& program_needs_;
  const std::vector<plan::Place>& places_;
  const StepNeeds needs_;
  TaskList tasks_;
  const StepBuffers buffers_;

  std::vector<ChunkTasks> chunk_tasks_;  // by chunk
  LandingRing landing_;
  GradientTurns turns_;
  ActivationCopies copies_;
  LoadQueue loads_;
  Reductions reductions_;
  Updates updates_;
  MicroBatch now_;
  std::size_t next_last_use_ = 0;  // in needs_.last_uses: the first that no range contains yet
  TaskId last_compute_ = -1;
  TaskId first_buffer_user_ = -1, last_buffer_user_ = -1;
  TaskId first_load_ = -1, last_input_reader_ = -1;  // of inputs
  std::map<BufferId, BlockUse> block_uses_;          // those that were fetched into
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

/// Keeps all tasks.
class Collector : public TaskSink {
 public:
  explicit Collector(Schedule& schedule) : schedule_(schedule) {}
  void begin(const std::vector<Buffer>& buffers) override { schedule_.buffers = buffers; }
  void take(Task&& task, std::span<const TaskId> after) override {
    schedule_.tasks.push_back(std::move(task));
    schedule_.tasks.back().after.assign(after.begin(), after.end());
  }
  void end(std::span<const StepLink> links) override {
    for (const StepLink& link : links) {
      schedule_.tasks[link.task].after_previous.push_back(link.previous);
    }
  }

 private:
  Schedule& schedule_;
};

}  // namespace

void lower_into(TaskSink& sink,
                const program::Program& program,
                const program::Lifetimes& lifetimes,
                const ProgramNeeds& needs,
                const plan::Plan& plan,
                const std::vector<plan::Place>& places,
                const LoweringOptions& options) {
  require(needs.training == options.training, "the needs are those of another kind of step");
  if (options.training) check_size(program, plan.accumulation_steps);
  Lowering(sink, program, lifetimes, needs, plan, places, options).run();
}

Schedule lower(const program::Program& program,
               const program::Lifetimes& lifetimes,
               const plan::Plan& plan,
               const LoweringOptions& options) {
  Schedule schedule{.micro_batches = options.training ? plan.accumulation_steps : 1,
                    .training = options.training};
  Collector collector(schedule);
  lower_into(collector,
             program,
             lifetimes,
             program_needs(program, lifetimes, options.training),
             plan,
             plan::locate_parameters(plan, program),
             options);
  return schedule;
}

}  // namespace elixir::schedule
