// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Program + plan -> tasks. One walk over the step's operators in order; everything that must happen
// between two operators (a chunk comes or goes, a gradient leaves, an update) ends the compute
// range before it. Positions are micro-batch * operators + operator, so that the cache runs through
// all micro-batches of a step.

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "schedule/belady.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;
using plan::Home;
using program::DType;
using program::OperatorId;
using program::StorageId;

// Host staging is cheap, so two buffers let a copy run beside an update; on the device every byte
// counts.
constexpr int kHostStagingBuffers = 2;
constexpr int kDeviceStagingBuffers = 1;

/// Buffers that take turns; a buffer is free again when its last user has finished.
struct Ring {
  std::vector<BufferId> buffers;
  std::vector<TaskId> busy_until;
  std::size_t next = 0;
};

/// A chunk on its way into a block.
struct Load {
  std::int32_t chunk = -1;
  BufferId block = -1;
  std::int32_t victim = -1;
  std::int64_t needed_at = -1;   ///< position
  std::int64_t free_after = -1;  ///< position; -1: from the start of the step
  TaskId fetch = -1;
};

struct ChunkBuffers {
  BufferId parameters = -1, gradients = -1, landing = -1, master = -1;
};

class Lowering {
 public:
  Lowering(const program::Program& program,
           const program::Lifetimes& lifetimes,
           const plan::Plan& plan,
           const LoweringOptions& options)
      : program_(program), lifetimes_(lifetimes), plan_(plan), options_(options) {
    schedule_.training = options.training;
    schedule_.micro_batches = options.training ? plan.accumulation_steps : 1;
    places_ = plan::locate_parameters(plan, program);
  }

  Schedule run() {
    check_size();
    classify();
    make_buffers();
    choose_blocks();
    for (int m = 0; m < schedule_.micro_batches; ++m) lower_micro_batch(m);
    if (options_.training && options_.clip_gradients) clip_and_update();
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] const Chunk& chunk_at(std::int32_t chunk) const { return plan_.chunks[chunk]; }
  [[nodiscard]] bool runs(OperatorId op) const {
    return options_.training || program_.operators[op].phase == program::Phase::kForward;
  }
  [[nodiscard]] bool cached(std::int32_t chunk) const {
    return chunk_at(chunk).parameter_home == Home::kHost &&
           chunk_at(chunk).kind == Chunk::Kind::kPublic;
  }
  [[nodiscard]] std::int64_t position(int micro_batch, OperatorId op) const {
    return static_cast<std::int64_t>(micro_batch) * operator_count_ + op;
  }

  /// Tasks, loads and their bookkeeping grow with the calls of a whole step.
  void check_size() const {
    constexpr std::int64_t kMostCalls = std::int64_t{1} << 24;
    const auto calls = static_cast<std::int64_t>(program_.operators.size());
    if (calls == 0 || schedule_.micro_batches <= kMostCalls / calls) return;
    throw Error(ErrorCode::kInconsistentPlan,
                fmt::format("{} micro-batches of {} calls are more than the {} that a schedule "
                            "may have",
                            schedule_.micro_batches,
                            calls,
                            kMostCalls),
                {"use fewer accumulation steps and larger micro-batches"});
  }

  // --- What every operator and chunk needs
  // ---------------------------------------------------------------------

  void classify() {
    operator_count_ = static_cast<OperatorId>(program_.operators.size());
    const std::size_t chunks = plan_.chunks.size();
    trained_.assign(chunks, false);
    gradients_in_chunk_.assign(chunks, 0);
    last_use_.assign(chunks, -1);
    first_use_.assign(chunks, -1);
    last_fetch_.assign(chunks, -1);
    gradients_done_.assign(chunks, -1);
    parameters_ready_at_.resize(operator_count_);
    kept_last_used_at_.resize(operator_count_);
    stores_of_.assign(program_.storages.size(), 0);
    if (options_.training && plan_.optimizer != "none") {
      for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
        if (program_.parameters[i].gradient) trained_[places_[i].chunk] = true;
      }
    }
    for (OperatorId op = 0; op < operator_count_; ++op) {
      if (!lifetimes_.executed[op] || !runs(op)) continue;
      for (const std::int32_t parameter : lifetimes_.parameters_used[op]) {
        const std::int32_t chunk = places_[parameter].chunk;
        last_use_[chunk] = op;
        if (first_use_[chunk] < 0) first_use_[chunk] = op;
      }
    }
    last_used_at_.resize(operator_count_);
    for (std::size_t c = 0; c < chunks; ++c) {
      if (last_use_[c] >= 0) last_used_at_[last_use_[c]].push_back(static_cast<std::int32_t>(c));
    }
    last_reader_.assign(chunks, -1);
    find_loss();
    if (!options_.training) return;
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const auto& gradient = program_.parameters[i].gradient;
      if (!gradient) continue;
      const OperatorId ready = lifetimes_.gradient_ready[i];
      require(ready >= 0, "a gradient is never made");
      parameters_ready_at_[ready].push_back(static_cast<std::int32_t>(i));
      if (stores_of_[gradient->storage]++ == 0) {
        kept_last_used_at_[lifetimes_.storages[gradient->storage].last_use].push_back(
            gradient->storage);
      }
      if (trained_[places_[i].chunk]) ++gradients_in_chunk_[places_[i].chunk];
    }
    gradients_left_ = gradients_in_chunk_;
  }

  void find_loss() {
    if (program_.loss.storage < 0) return;
    for (const program::Operator& op : program_.operators) {
      if (!lifetimes_.executed[op.id] || !runs(op.id)) continue;
      program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
        if (tensor.storage == program_.loss.storage && tensor.version <= program_.loss.version) {
          loss_ready_ = op.id;
        }
      });
    }
  }

  // --- Buffers
  // -------------------------------------------------------------------------------------------------

  BufferId add_buffer(Arena arena, BufferRole role, std::int32_t chunk, std::int64_t bytes) {
    const auto id = static_cast<BufferId>(schedule_.buffers.size());
    schedule_.buffers.push_back(
        {.id = id, .arena = arena, .role = role, .chunk = chunk, .bytes = bytes});
    return id;
  }
  static Arena arena_of(Home home) { return home == Home::kDevice ? Arena::kDevice : Arena::kHost; }

  Ring make_ring(BufferRole role, std::int64_t bytes) {
    Ring ring;
    if (bytes == 0) return ring;
    const bool host = role == BufferRole::kHostStaging;
    const int count = host ? kHostStagingBuffers : kDeviceStagingBuffers;
    for (int i = 0; i < count; ++i) {
      ring.buffers.push_back(add_buffer(host ? Arena::kHost : Arena::kDevice, role, -1, bytes));
      ring.busy_until.push_back(-1);
    }
    return ring;
  }

  void make_buffers() {
    buffers_.resize(plan_.chunks.size());
    private_block_.assign(plan_.chunks.size(), -1);
    std::int64_t largest_gradient[2] = {0,
                                        0};  // by optimizer home, of gradients that live elsewhere
    std::int64_t largest_parameters[2] = {
        0, 0};  // by optimizer home, of parameters that live elsewhere
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      const Chunk& chunk = plan_.chunks[c];
      const auto id = static_cast<std::int32_t>(c);
      ChunkBuffers& mine = buffers_[c];
      mine.parameters =
          add_buffer(arena_of(chunk.parameter_home), BufferRole::kParameters, id, chunk.bytes);
      if (chunk.parameter_home == Home::kHost && chunk.kind == Chunk::Kind::kPrivate) {
        private_block_[c] = add_buffer(Arena::kDevice, BufferRole::kPrivateBlock, id, chunk.bytes);
      }
      if (!trained_[c]) continue;
      const std::int64_t gradient_bytes = plan::bytes_as(chunk, chunk.gradient_dtype);
      mine.gradients =
          add_buffer(arena_of(chunk.gradient_home), BufferRole::kGradients, id, gradient_bytes);
      if (chunk.gradient_home == Home::kHost && schedule_.micro_batches > 1) {
        mine.landing = add_buffer(Arena::kHost, BufferRole::kGradientLanding, id, chunk.bytes);
      }
      const std::int64_t state_bytes = plan::bytes_as(chunk, DType::kFloat32);
      const Arena optimizer = arena_of(chunk.optimizer_home);
      mine.master = plan::master_is_parameter(chunk)
                        ? mine.parameters
                        : add_buffer(optimizer, BufferRole::kMaster, id, state_bytes);
      if (plan_.optimizer != "sgd") {
        add_buffer(optimizer, BufferRole::kMoment1, id, state_bytes);
        add_buffer(optimizer, BufferRole::kMoment2, id, state_bytes);
      }
      const auto side = static_cast<std::size_t>(chunk.optimizer_home);
      if (chunk.gradient_home != chunk.optimizer_home) {
        largest_gradient[side] = std::max(largest_gradient[side], gradient_bytes);
      }
      if (chunk.parameter_home != chunk.optimizer_home && chunk.dtype != DType::kFloat32) {
        largest_parameters[side] = std::max(largest_parameters[side], chunk.bytes);
      }
    }
    for (std::int64_t b = 0; b < plan_.cache.blocks; ++b) {
      blocks_.push_back(
          add_buffer(Arena::kDevice, BufferRole::kBlock, -1, plan_.cache.block_bytes));
    }
    for (const Home home : {Home::kDevice, Home::kHost}) {
      const auto side = static_cast<std::size_t>(home);
      const BufferRole role =
          home == Home::kDevice ? BufferRole::kDeviceStaging : BufferRole::kHostStaging;
      gradient_staging_[side] = make_ring(role, largest_gradient[side]);
      parameter_staging_[side] = make_ring(role, largest_parameters[side]);
    }
    for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
      add_buffer(Arena::kDevice,
                 BufferRole::kModuleBuffer,
                 static_cast<std::int32_t>(i),
                 program_.storages[program_.buffers[i].tensor.storage].bytes);
    }
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
      add_buffer(Arena::kDevice,
                 BufferRole::kInput,
                 static_cast<std::int32_t>(i),
                 program_.storages[program_.inputs[i].tensor.storage].bytes);
    }
    for (const program::Storage& storage : program_.storages) {
      if (lifetimes_.storages[storage.id].origin == program::Origin::kConstant &&
          !storage.on_host) {
        add_buffer(Arena::kDevice, BufferRole::kConstant, storage.id, storage.bytes);
      }
    }
  }

  // --- Blocks
  // --------------------------------------------------------------------------------------------------

  void choose_blocks() {
    std::vector<std::vector<std::int32_t>> steps;
    std::vector<std::int64_t> step_position;
    for (int m = 0; m < schedule_.micro_batches; ++m) {
      for (OperatorId op = 0; op < operator_count_; ++op) {
        if (!lifetimes_.executed[op] || !runs(op)) continue;
        std::vector<std::int32_t> chunks;
        for (const std::int32_t parameter : lifetimes_.parameters_used[op]) {
          const std::int32_t chunk = places_[parameter].chunk;
          if (cached(chunk) && std::find(chunks.begin(), chunks.end(), chunk) == chunks.end()) {
            chunks.push_back(chunk);
          }
        }
        if (chunks.empty()) continue;
        steps.push_back(std::move(chunks));
        step_position.push_back(position(m, op));
      }
    }
    for (const ChunkLoad& load : belady_loads(steps, plan_.cache.blocks)) {
      loads_.push_back({.chunk = load.chunk,
                        .block = blocks_[load.block],
                        .victim = load.victim,
                        .needed_at = step_position[load.needed_at],
                        .free_after = load.free_after < 0 ? -1 : step_position[load.free_after]});
    }
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      if (private_block_[c] < 0 || first_use_[c] < 0) continue;
      loads_.push_back({.chunk = static_cast<std::int32_t>(c),
                        .block = private_block_[c],
                        .needed_at = first_use_[c]});
    }
    std::stable_sort(loads_.begin(), loads_.end(), [](const Load& a, const Load& b) {
      return a.needed_at < b.needed_at;
    });
    by_free_.resize(loads_.size());
    for (std::size_t i = 0; i < loads_.size(); ++i) by_free_[i] = i;
    std::stable_sort(by_free_.begin(), by_free_.end(), [this](std::size_t a, std::size_t b) {
      return loads_[a].free_after < loads_[b].free_after;
    });
  }

  // --- Tasks
  // ---------------------------------------------------------------------------------------------------

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

  /// Emits the open range up to `end` as a compute task; does nothing when no executed operator is
  /// in it.
  void close_range(OperatorId end) {
    bool executes = false;
    for (OperatorId op = range_first_; op < end && !executes; ++op) {
      executes = lifetimes_.executed[op];
    }
    if (executes) emit_range(end);
  }

  void emit_range(OperatorId end) {
    Task task;
    task.kind = TaskKind::kCompute;
    task.stream = Stream::kCompute;
    task.micro_batch = micro_batch_;
    task.first = range_first_;
    task.last = end;
    task.releases = std::exchange(pending_releases_, {});
    std::sort(task.releases.begin(), task.releases.end());
    last_compute_ = add(std::move(task), std::exchange(pending_after_, {}));
    for (OperatorId op = range_first_; op < end; ++op) {
      for (const std::int32_t chunk : last_used_at_[op]) last_reader_[chunk] = last_compute_;
    }
    range_first_ = end;
  }

  void lower_micro_batch(int m) {
    micro_batch_ = m;
    range_first_ = 0;
    outstanding_.clear();
    outstanding_bytes_ = 0;
    stores_left_ = stores_of_;
    last_store_.assign(program_.storages.size(), -1);
    released_.assign(program_.storages.size(), false);
    load_inputs();
    if (m == 0) fetch_freed(-1);
    for (OperatorId op = 0; op < operator_count_; ++op) {
      if (!runs(op)) {
        if (range_first_ < op) emit_range(op);
        range_first_ = op + 1;
        continue;
      }
      if (!lifetimes_.executed[op]) continue;
      require_chunks(op);
      after_operator(op);
    }
    if (operator_count_ > 0 && runs(operator_count_ - 1) && range_first_ < operator_count_) {
      emit_range(operator_count_);
    }
    end_micro_batch();
  }

  void load_inputs() {
    Task task;
    task.kind = TaskKind::kLoadInputs;
    task.stream = Stream::kHostToDevice;
    task.micro_batch = micro_batch_;
    for (const program::Input& input : program_.inputs) task.bytes += input.tensor.bytes();
    pending_after_.push_back(add(std::move(task), {last_compute_}));
  }

  /// A range that uses a chunk fetched since its last use starts here and waits for the fetch.
  void require_chunks(OperatorId op) {
    const std::int64_t now = position(micro_batch_, op);
    if (next_needed_ == loads_.size() || loads_[next_needed_].needed_at != now) return;
    close_range(op);
    for (; next_needed_ < loads_.size() && loads_[next_needed_].needed_at == now; ++next_needed_) {
      require(loads_[next_needed_].fetch >= 0, "a chunk is needed before its fetch is issued");
      pending_after_.push_back(loads_[next_needed_].fetch);
    }
  }

  /// Issues the fetches whose block is free once position `now` has run.
  void fetch_freed(std::int64_t now) {
    for (; next_freed_ < by_free_.size() && loads_[by_free_[next_freed_]].free_after == now;
         ++next_freed_) {
      Load& load = loads_[by_free_[next_freed_]];
      TaskId evicted = -1;
      if (load.victim >= 0) {
        Task evict;
        evict.kind = TaskKind::kEvict;
        evict.stream = Stream::kCompute;
        evict.micro_batch = micro_batch_;
        evict.chunk = load.victim;
        evict.source = load.block;
        evicted = add(std::move(evict), {});
      }
      Task fetch;
      fetch.kind = TaskKind::kFetch;
      fetch.stream = Stream::kHostToDevice;
      fetch.micro_batch = micro_batch_;
      fetch.chunk = load.chunk;
      fetch.source = buffers_[load.chunk].parameters;
      fetch.destination = load.block;
      fetch.bytes = chunk_at(load.chunk).bytes;
      load.fetch = add(std::move(fetch), {evicted});
      last_fetch_[load.chunk] = load.fetch;
    }
  }

  void after_operator(OperatorId op) {
    const std::int64_t now = position(micro_batch_, op);
    const bool frees =
        next_freed_ < by_free_.size() && loads_[by_free_[next_freed_]].free_after == now;
    const bool last = micro_batch_ + 1 == schedule_.micro_batches;
    std::vector<std::int32_t> finished;  // chunks whose parameters the step needs no more
    if (options_.training && !options_.clip_gradients && last) {
      for (const std::int32_t chunk : last_used_at_[op]) {
        if (trained_[chunk]) finished.push_back(chunk);
      }
    }
    if (!frees && op != loss_ready_ && parameters_ready_at_[op].empty() &&
        kept_last_used_at_[op].empty() && finished.empty()) {
      return;
    }
    close_range(op + 1);
    fetch_freed(now);
    if (op == loss_ready_) read_loss();
    for (const std::int32_t parameter : parameters_ready_at_[op]) {
      const std::int32_t chunk = places_[parameter].chunk;
      if (trained_[chunk]) {
        store_gradient(parameter);
        if (last && --gradients_left_[chunk] == 0) complete_gradients(chunk, op);
      }
      --stores_left_[program_.parameters[parameter].gradient->storage];
      await_release(program_.parameters[parameter].gradient->storage);
    }
    for (const std::int32_t chunk : finished) {
      if (gradients_left_[chunk] == 0) update(chunk);
    }
    join(op);
  }

  void read_loss() {
    Task task;
    task.kind = TaskKind::kReadLoss;
    task.stream = Stream::kDeviceToHost;
    task.micro_batch = micro_batch_;
    task.bytes = program_.loss.bytes();
    loss_read_ = add(std::move(task), {last_compute_});
  }

  // --- Gradients
  // -----------------------------------------------------------------------------------------------

  void store_gradient(std::int32_t parameter) {
    const plan::Place& place = places_[parameter];
    const Chunk& chunk = chunk_at(place.chunk);
    const program::TensorRef& gradient = *program_.parameters[parameter].gradient;
    const ChunkBuffers& mine = buffers_[place.chunk];
    const bool to_host = chunk.gradient_home == Home::kHost;
    Task store;
    store.kind = TaskKind::kStoreGradient;
    store.stream = to_host ? Stream::kDeviceToHost : Stream::kCompute;
    store.micro_batch = micro_batch_;
    store.chunk = place.chunk;
    store.parameter = parameter;
    store.destination = mine.landing >= 0 ? mine.landing : mine.gradients;
    const std::int64_t sum_bytes = gradient.numel() * program::element_bytes(chunk.gradient_dtype);
    const bool adds = schedule_.micro_batches > 1 && micro_batch_ > 0;
    // Over a link the gradient's bytes; on the device what the pass reads and writes.
    store.bytes = gradient.bytes() + (to_host ? 0 : sum_bytes * (adds ? 2 : 1));
    TaskId done = add(std::move(store), {last_compute_, landing_read(parameter)});
    if (to_host) last_store_[gradient.storage] = done;
    if (mine.landing >= 0) {
      Task sum;
      sum.kind = TaskKind::kAccumulate;
      sum.stream = Stream::kCpu;
      sum.micro_batch = micro_batch_;
      sum.chunk = place.chunk;
      sum.parameter = parameter;
      sum.source = mine.landing;
      sum.destination = mine.gradients;
      sum.bytes = gradient.bytes() + sum_bytes * (adds ? 2 : 1);
      done = add(std::move(sum), {done});
      landing_read_[parameter] = done;
    }
    gradients_done_[place.chunk] = done;
  }

  /// The task that last read the parameter's place in the landing buffer; -1 when none did.
  [[nodiscard]] TaskId landing_read(std::int32_t parameter) {
    landing_read_.resize(program_.parameters.size(), -1);
    return landing_read_[parameter];
  }

  void await_release(StorageId storage) {
    if (stores_left_[storage] > 0) return;
    outstanding_.push_back(storage);
    if (last_store_[storage] >= 0) outstanding_bytes_ += bytes_of(storage);
  }

  [[nodiscard]] std::int64_t bytes_of(StorageId storage) const {
    return program_.storages[storage].bytes;
  }

  /// Lets gradients go that nobody needs any more: at once when no copy is under way; else, oldest
  /// first, those that the window has no room for, and the next range waits for their copies.
  void join(OperatorId op) {
    std::vector<StorageId> kept;
    for (const StorageId storage : outstanding_) {
      const bool copying = last_store_[storage] >= 0;
      const bool over = outstanding_bytes_ > plan_.cache.gradient_window_bytes;
      if (lifetimes_.storages[storage].last_use > op || (copying && !over)) {
        kept.push_back(storage);
        continue;
      }
      if (copying) {
        pending_after_.push_back(last_store_[storage]);
        outstanding_bytes_ -= bytes_of(storage);
      }
      release(storage);
    }
    outstanding_ = std::move(kept);
  }

  void release(StorageId storage) {
    pending_releases_.push_back(storage);
    released_[storage] = true;
  }

  void end_micro_batch() {
    for (const StorageId storage : outstanding_) {
      pending_after_.push_back(last_store_[storage]);
      release(storage);
    }
    outstanding_.clear();
    if (loss_read_ >= 0) pending_after_.push_back(loss_read_);
    // What is left: the loss, and in a forward-only schedule whatever backward would have used.
    for (const program::Storage& storage : program_.storages) {
      const program::StorageUse& use = lifetimes_.storages[storage.id];
      if (use.origin != program::Origin::kProduced || use.producer < 0 || !runs(use.producer)) {
        continue;
      }
      const bool kept = released_[storage.id] || !runs(use.last_use) ||
                        storage.id == program_.loss.storage || stores_of_[storage.id] > 0;
      if (kept && !released_[storage.id]) release(storage.id);
    }
    emit_range(range_first_);
    loss_read_ = -1;
  }

  // --- Updates
  // -------------------------------------------------------------------------------------------------

  void complete_gradients(std::int32_t chunk, OperatorId op) {
    completed_.push_back(chunk);
    if (!options_.clip_gradients) {
      if (last_use_[chunk] < op) update(chunk);
      return;
    }
    const Chunk& it = chunk_at(chunk);
    Task norm;
    norm.kind = TaskKind::kGradientNorm;
    norm.stream = it.gradient_home == Home::kDevice ? Stream::kCompute : Stream::kCpu;
    norm.micro_batch = micro_batch_;
    norm.chunk = chunk;
    norm.source = buffers_[chunk].gradients;
    norm.bytes = plan::bytes_as(it, it.gradient_dtype);
    norms_.push_back(add(std::move(norm), {gradients_done_[chunk]}));
  }

  void clip_and_update() {
    Task clip;
    clip.kind = TaskKind::kClip;
    clip.stream = Stream::kCpu;
    clip_ = add(std::move(clip), norms_);
    for (const std::int32_t chunk : completed_) update(chunk);
  }

  /// Takes the ring's next buffer; `free` receives the task that must have finished first.
  static std::size_t take(Ring& ring, TaskId& free) {
    const std::size_t slot = ring.next;
    ring.next = (ring.next + 1) % ring.buffers.size();
    free = ring.busy_until[slot];
    return slot;
  }

  void update(std::int32_t chunk) {
    const Chunk& it = chunk_at(chunk);
    const ChunkBuffers& mine = buffers_[chunk];
    const bool on_device = it.optimizer_home == Home::kDevice;
    const Stream to_optimizer = on_device ? Stream::kHostToDevice : Stream::kDeviceToHost;
    const Stream from_optimizer = on_device ? Stream::kDeviceToHost : Stream::kHostToDevice;
    const auto side = static_cast<std::size_t>(it.optimizer_home);
    const std::int64_t gradient_bytes = plan::bytes_as(it, it.gradient_dtype);
    // Whoever writes the parameters' home waits for its readers: fetches, or operators on the
    // device.
    const TaskId readers =
        it.parameter_home == Home::kHost ? last_fetch_[chunk] : last_reader_[chunk];

    Task step;
    step.kind = TaskKind::kUpdate;
    step.stream = on_device ? Stream::kCompute : Stream::kCpu;
    step.micro_batch = -1;
    step.chunk = chunk;
    step.source = mine.gradients;
    std::vector<TaskId> after = {gradients_done_[chunk], clip_};

    Ring& gradients = gradient_staging_[side];
    std::size_t gradient_slot = 0;
    const bool moves_gradients = it.gradient_home != it.optimizer_home;
    if (moves_gradients) {
      Task move;
      move.kind = TaskKind::kMoveGradients;
      move.stream = to_optimizer;
      move.chunk = chunk;
      move.source = mine.gradients;
      TaskId free = -1;
      gradient_slot = take(gradients, free);
      move.destination = gradients.buffers[gradient_slot];
      move.bytes = gradient_bytes;
      step.source = move.destination;
      after.push_back(add(std::move(move), {gradients_done_[chunk], free}));
    }

    Ring& parameters = parameter_staging_[side];
    std::size_t parameter_slot = 0;
    const bool moves_parameters = it.parameter_home != it.optimizer_home;
    const bool stages_parameters = moves_parameters && it.dtype != DType::kFloat32;
    if (!moves_parameters) {
      step.destination = mine.parameters;
      after.push_back(readers);
    } else if (stages_parameters) {
      TaskId free = -1;
      parameter_slot = take(parameters, free);
      step.destination = parameters.buffers[parameter_slot];
      after.push_back(free);
    } else {
      step.destination = mine.master;
    }
    // Master and both moments are read and written, the gradient read, the parameters written.
    const std::int64_t elements = it.bytes / program::element_bytes(it.dtype);
    step.bytes = elements * 24 + gradient_bytes + (mine.master == step.destination ? 0 : it.bytes);
    const BufferId from = step.destination;
    const TaskId updated = add(std::move(step), std::move(after));
    if (moves_gradients) gradients.busy_until[gradient_slot] = updated;

    if (moves_parameters) {
      Task move;
      move.kind = TaskKind::kMoveParameters;
      move.stream = from_optimizer;
      move.chunk = chunk;
      move.source = from;
      move.destination = mine.parameters;
      move.bytes = it.bytes;
      const TaskId moved = add(std::move(move), {updated, readers});
      if (stages_parameters) parameters.busy_until[parameter_slot] = moved;
    }
  }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const plan::Plan& plan_;
  const LoweringOptions& options_;
  Schedule schedule_;
  std::vector<plan::Place> places_;
  OperatorId operator_count_ = 0;
  OperatorId loss_ready_ = -1;

  // By chunk.
  std::vector<bool> trained_;
  std::vector<int> gradients_in_chunk_, gradients_left_;
  std::vector<OperatorId> first_use_, last_use_;
  std::vector<TaskId> last_fetch_, last_reader_, gradients_done_;
  std::vector<ChunkBuffers> buffers_;
  std::vector<BufferId> private_block_;

  // By operator.
  std::vector<std::vector<std::int32_t>> parameters_ready_at_;
  std::vector<std::vector<StorageId>> kept_last_used_at_;
  std::vector<std::vector<std::int32_t>> last_used_at_;  // chunks

  // By storage: parameters whose gradient it is; in this micro-batch those still to be stored, the
  // copy to wait for.
  std::vector<int> stores_of_, stores_left_;
  std::vector<TaskId> last_store_;
  std::vector<bool> released_;

  std::vector<BufferId> blocks_;
  Ring gradient_staging_[2], parameter_staging_[2];  // by optimizer home
  std::vector<Load> loads_;                          // by position of need
  std::vector<std::size_t> by_free_;  // loads_ by position at which the block is free
  std::size_t next_needed_ = 0, next_freed_ = 0;

  int micro_batch_ = 0;
  OperatorId range_first_ = 0;
  std::vector<TaskId> pending_after_;
  std::vector<StorageId> pending_releases_;
  std::vector<StorageId> outstanding_;
  std::int64_t outstanding_bytes_ = 0;
  std::vector<TaskId> landing_read_;  // by parameter
  std::vector<std::int32_t> completed_;
  std::vector<TaskId> norms_;
  TaskId last_compute_ = -1, loss_read_ = -1, clip_ = -1;
};

}  // namespace

Schedule lower(const program::Program& program,
               const program::Lifetimes& lifetimes,
               const plan::Plan& plan,
               const LoweringOptions& options) {
  return Lowering(program, lifetimes, plan, options).run();
}

}  // namespace elixir::schedule
