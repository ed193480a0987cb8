// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The independent checker. It shares no code with lower.cc and trusts nothing that lower()
// computed: it walks the tasks in issue order, keeps what every buffer holds, and proves with
// vector clocks that two tasks that touch the same bytes, one of them writing, are ordered by
// streams and `after`.

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "program/writes.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;
using plan::Home;
using program::DType;
using program::OperatorId;
using program::StorageId;

constexpr std::size_t kMostProblems = 50;

enum class Fixed : std::uint8_t { kNo, kParameter, kBuffer, kInput, kConstant };

/// What is in a buffer that several chunks take turns in.
struct Content {
  std::int32_t chunk = -1;
  enum class What : std::uint8_t { kNothing, kParameters, kGradients } what = What::kNothing;
};

/// Latest tasks that touched some bytes.
struct Touched {
  TaskId write = -1;
  std::array<TaskId, kStreamCount> reads{-1, -1, -1, -1, -1};
};

class Checker {
 public:
  Checker(const Schedule& schedule, const program::Program& program, const plan::Plan& plan)
      : schedule_(schedule), program_(program), plan_(plan) {}

  std::vector<std::string> run() {
    if (!structure_is_sound()) return std::move(problems_);
    read_program();
    read_plan();
    check_buffers();
    for (const Task& task : schedule_.tasks) {
      if (problems_.size() >= kMostProblems) break;
      visit(task);
    }
    check_end();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void problem(fmt::format_string<Args...> text, Args&&... args) {
    if (problems_.size() < kMostProblems) {
      problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
    }
  }
  template <class... Args>
  void problem_at(const Task& task, fmt::format_string<Args...> text, Args&&... args) {
    problem("task {} ({}): {}",
            task.id,
            name_of(task.kind),
            fmt::format(text, std::forward<Args>(args)...));
  }

  // --- Structure and order -----------------------------------------------------------------------

  bool structure_is_sound() {
    const auto buffers = static_cast<BufferId>(schedule_.buffers.size());
    const auto chunks = static_cast<std::int32_t>(plan_.chunks.size());
    const auto operators = static_cast<OperatorId>(program_.operators.size());
    const auto in = [](auto value, auto low, auto high) { return value >= low && value < high; };
    for (std::size_t i = 0; i < schedule_.buffers.size(); ++i) {
      const Buffer& buffer = schedule_.buffers[i];
      if (buffer.id != static_cast<BufferId>(i)) problem("buffer {} has id {}", i, buffer.id);
      if (buffer.bytes < 0) problem("buffer {} has {} bytes", i, buffer.bytes);
    }
    for (std::size_t i = 0; i < schedule_.tasks.size(); ++i) {
      const Task& task = schedule_.tasks[i];
      if (task.id != static_cast<TaskId>(i)) problem("task {} has id {}", i, task.id);
      for (const TaskId before : task.after) {
        if (!in(before, 0, static_cast<TaskId>(i))) {
          problem("task {} waits for task {}, which is not before it", i, before);
        }
      }
      if (!in(task.source, -1, buffers) || !in(task.destination, -1, buffers) ||
          !in(task.chunk, -1, chunks) ||
          !in(task.parameter, -1, static_cast<std::int32_t>(program_.parameters.size())) ||
          !in(task.micro_batch, -1, schedule_.micro_batches)) {
        problem("task {} names a buffer, chunk, parameter or micro-batch that does not exist", i);
      }
      if (task.kind == TaskKind::kCompute) {
        if (task.first < 0 || task.last < task.first || task.last > operators ||
            task.micro_batch < 0) {
          problem("task {} has no proper operator range", i);
        }
      } else if (!task.releases.empty()) {
        problem("task {} releases storages but computes nothing", i);
      }
      for (const StorageId storage : task.releases) {
        if (!in(storage, 0, static_cast<StorageId>(program_.storages.size()))) {
          problem("task {} releases a storage that does not exist", i);
        }
      }
    }
    if (!problems_.empty()) return false;
    make_clocks();
    return true;
  }

  void make_clocks() {
    clocks_.resize(schedule_.tasks.size());
    std::array<TaskId, kStreamCount> latest{-1, -1, -1, -1, -1};
    for (const Task& task : schedule_.tasks) {
      auto& clock = clocks_[task.id];
      clock.fill(-1);
      const auto stream = static_cast<std::size_t>(task.stream);
      const auto merge = [&](TaskId before) {
        for (std::size_t s = 0; s < kStreamCount; ++s) {
          clock[s] = std::max(clock[s], clocks_[before][s]);
        }
      };
      if (latest[stream] >= 0) merge(latest[stream]);
      for (const TaskId before : task.after) merge(before);
      clock[stream] = task.id;
      latest[stream] = task.id;
    }
  }

  /// Whether `before` has finished when `task` starts.
  [[nodiscard]] bool ordered(TaskId before, TaskId task) const {
    const auto stream = static_cast<std::size_t>(schedule_.tasks[before].stream);
    return before == task || clocks_[task][stream] >= before;
  }

  void touch(const Task& task, std::int64_t what, bool writes, const std::string& name) {
    Touched& touched = touched_[what];
    const auto require_order = [&](TaskId before) {
      if (before >= 0 && !ordered(before, task.id)) {
        problem_at(task,
                   "{} {} without waiting for task {} ({})",
                   writes ? "writes" : "reads",
                   name,
                   before,
                   name_of(schedule_.tasks[before].kind));
      }
    };
    require_order(touched.write);
    if (!writes) {
      touched.reads[static_cast<std::size_t>(task.stream)] = task.id;
      return;
    }
    for (const TaskId reader : touched.reads) require_order(reader);
    touched = Touched{};
    touched.write = task.id;
  }
  void touch_buffer(const Task& task, BufferId buffer, bool writes) {
    touch(task, buffer, writes, fmt::format("buffer {}", buffer));
  }
  void touch_storage(const Task& task, StorageId storage, bool writes) {
    touch(task, (std::int64_t{1} << 40) + storage, writes, fmt::format("storage {}", storage));
  }
  /// One parameter's part of a gradient or landing buffer.
  void touch_gradient(const Task& task, BufferId buffer, std::int32_t parameter, bool writes) {
    touch(task,
          (std::int64_t{1} << 41) + (static_cast<std::int64_t>(buffer) << 20) + parameter,
          writes,
          fmt::format("gradient of {} in buffer {}", program_.parameters[parameter].name, buffer));
  }

  // --- The program's own rules, read again from its operators ------------------------------------

  [[nodiscard]] bool runs(const program::Operator& op) const {
    return schedule_.training || op.phase == program::Phase::kForward;
  }

  void read_program() {
    const std::size_t storages = program_.storages.size();
    fixed_.assign(storages, Fixed::kNo);
    parameter_of_.assign(storages, -1);
    kept_.assign(storages, false);
    last_use_.assign(storages, -1);
    alive_.assign(storages, false);
    version_.assign(storages, 0);
    for (const program::Storage& storage : program_.storages) {
      if (storage.category == program::Category::kConstant) fixed_[storage.id] = Fixed::kConstant;
    }
    for (const auto& input : program_.inputs) fixed_[input.tensor.storage] = Fixed::kInput;
    for (const auto& buffer : program_.buffers) fixed_[buffer.tensor.storage] = Fixed::kBuffer;
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const program::Parameter& parameter = program_.parameters[i];
      fixed_[parameter.tensor.storage] = Fixed::kParameter;
      parameter_of_[parameter.tensor.storage] = static_cast<std::int32_t>(i);
      if (parameter.gradient) kept_[parameter.gradient->storage] = true;
    }
    if (program_.loss.storage >= 0) kept_[program_.loss.storage] = true;
    std::vector<bool> made(storages, false);
    executed_.resize(program_.operators.size());
    for (const program::Operator& op : program_.operators) {
      int outputs = 0;
      int fresh = 0;
      program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
        ++outputs;
        if (fixed_[tensor.storage] == Fixed::kNo && !made[tensor.storage]) {
          made[tensor.storage] = true;
          ++fresh;
        }
      });
      executed_[op.id] = op.writes || fresh > 0 || outputs == 0;
      if (!executed_[op.id]) continue;
      const auto use = [&](const program::TensorRef& tensor) { last_use_[tensor.storage] = op.id; };
      program::for_each_tensor(op.arguments, use);
      program::for_each_tensor(op.outputs, use);
    }
  }

  void read_plan() {
    chunk_of_.assign(program_.parameters.size(), -1);
    std::unordered_map<std::string, std::int32_t> chunk_of_name;
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      for (const auto& entry : plan_.chunks[c].parameters) {
        chunk_of_name[entry.name] = static_cast<std::int32_t>(c);
      }
    }
    trained_in_.resize(plan_.chunks.size());
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
      const auto found = chunk_of_name.find(program_.parameters[i].name);
      if (found == chunk_of_name.end()) {
        problem("parameter {} is in no chunk", program_.parameters[i].name);
        chunk_of_[i] = 0;
        continue;
      }
      chunk_of_[i] = found->second;
      if (schedule_.training && plan_.optimizer != "none" && program_.parameters[i].gradient) {
        trained_in_[found->second].push_back(static_cast<std::int32_t>(i));
      }
    }
    stored_.assign(program_.parameters.size(), 0);
    summed_.assign(program_.parameters.size(), 0);
    landed_.assign(program_.parameters.size(), false);
    normed_.assign(plan_.chunks.size(), -1);
    updated_.assign(plan_.chunks.size(), false);
    home_again_.assign(plan_.chunks.size(), false);
    next_operator_.assign(schedule_.micro_batches, 0);
    closed_.assign(schedule_.micro_batches, false);
    losses_read_.assign(schedule_.micro_batches, 0);
    content_.resize(schedule_.buffers.size());
    for (const Task& task : schedule_.tasks) {
      if (task.kind == TaskKind::kClip) clip_ = task.id;
    }
  }

  // --- Buffers -----------------------------------------------------------------------------------

  [[nodiscard]] BufferId find(BufferRole role, std::int32_t chunk) const {
    const auto found = by_role_.find({role, chunk});
    return found == by_role_.end() ? -1 : found->second;
  }

  void expect(BufferRole role, std::int32_t chunk, Home home, std::int64_t bytes) {
    const BufferId id = find(role, chunk);
    if (id < 0) {
      problem("chunk {} has no buffer of role {}", chunk, static_cast<int>(role));
      return;
    }
    const Buffer& buffer = schedule_.buffers[id];
    if ((buffer.arena == Arena::kDevice) != (home == Home::kDevice)) {
      problem("buffer {} of chunk {} is not where the plan says", id, chunk);
    }
    if (buffer.bytes < bytes) {
      problem("buffer {} of chunk {} has {} bytes, needs {}", id, chunk, buffer.bytes, bytes);
    }
  }

  void check_buffers() {
    for (const Buffer& buffer : schedule_.buffers) {
      if (buffer.chunk >= 0) by_role_.emplace(std::make_pair(buffer.role, buffer.chunk), buffer.id);
    }
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      const Chunk& chunk = plan_.chunks[c];
      const auto id = static_cast<std::int32_t>(c);
      const std::int64_t elements = chunk.bytes / program::element_bytes(chunk.dtype);
      expect(BufferRole::kParameters, id, chunk.parameter_home, chunk.bytes);
      if (trained_in_[c].empty()) continue;
      expect(BufferRole::kGradients,
             id,
             chunk.gradient_home,
             elements * program::element_bytes(chunk.gradient_dtype));
      if (chunk.dtype != DType::kFloat32 || chunk.parameter_home != chunk.optimizer_home) {
        expect(BufferRole::kMaster, id, chunk.optimizer_home, elements * 4);
      }
      if (plan_.optimizer != "sgd") {
        expect(BufferRole::kMoment1, id, chunk.optimizer_home, elements * 4);
        expect(BufferRole::kMoment2, id, chunk.optimizer_home, elements * 4);
      }
    }
  }

  // --- Tasks -------------------------------------------------------------------------------------

  void visit(const Task& task) {
    if (!schedule_.training &&
        (task.kind == TaskKind::kStoreGradient || task.kind == TaskKind::kAccumulate ||
         task.kind == TaskKind::kGradientNorm || task.kind == TaskKind::kClip ||
         task.kind == TaskKind::kMoveGradients || task.kind == TaskKind::kUpdate ||
         task.kind == TaskKind::kMoveParameters)) {
      problem_at(task, "writes in a forward-only schedule");
      return;
    }
    switch (task.kind) {
      case TaskKind::kLoadInputs:
        return load_inputs(task);
      case TaskKind::kCompute:
        return compute(task);
      case TaskKind::kFetch:
        return fetch(task);
      case TaskKind::kEvict:
        return evict(task);
      case TaskKind::kStoreGradient:
        return store_gradient(task);
      case TaskKind::kAccumulate:
        return accumulate(task);
      case TaskKind::kGradientNorm:
        return norm(task);
      case TaskKind::kClip:
        return clip(task);
      case TaskKind::kMoveGradients:
        return move_gradients(task);
      case TaskKind::kUpdate:
        return update(task);
      case TaskKind::kMoveParameters:
        return move_parameters(task);
      case TaskKind::kReadLoss:
        return read_loss(task);
    }
  }

  bool on_stream(const Task& task, Stream stream) {
    if (task.stream == stream) return true;
    problem_at(task, "is on stream {}, belongs on {}", name_of(task.stream), name_of(stream));
    return false;
  }
  bool needs_chunk(const Task& task) {
    if (task.chunk >= 0) return true;
    problem_at(task, "names no chunk");
    return false;
  }

  void load_inputs(const Task& task) {
    on_stream(task, Stream::kHostToDevice);
    for (const Buffer& buffer : schedule_.buffers) {
      if (buffer.role == BufferRole::kInput) touch_buffer(task, buffer.id, true);
    }
    inputs_of_ = task.micro_batch;
  }

  void compute(const Task& task) {
    on_stream(task, Stream::kCompute);
    if (task.micro_batch != current_) {
      if (task.micro_batch != current_ + 1 || (current_ >= 0 && !closed_[current_])) {
        problem_at(task, "starts micro-batch {} out of order", task.micro_batch);
      }
      current_ = task.micro_batch;
      std::fill(version_.begin(), version_.end(), 0);
    }
    for (const StorageId storage : task.releases) {
      if (!alive_[storage]) {
        problem_at(task, "releases storage {}, which is not there", storage);
        continue;
      }
      touch_storage(task, storage, true);
      alive_[storage] = false;
    }
    OperatorId& next = next_operator_[task.micro_batch];
    while (next < task.first && !runs(program_.operators[next])) ++next;
    if (task.first != next && !(task.first == task.last)) {
      problem_at(task, "starts at operator {} where {} is next", task.first, next);
    }
    for (OperatorId op = task.first; op < task.last; ++op) {
      if (!runs(program_.operators[op])) problem_at(task, "runs backward operator {}", op);
      if (executed_[op]) execute(task, program_.operators[op]);
    }
    next = std::max(next, task.last);
    if (task.first == task.last) close(task);
  }

  void execute(const Task& task, const program::Operator& op) {
    program::for_each_tensor(op.arguments,
                             [&](const program::TensorRef& tensor) { read(task, op, tensor); });
    program::for_each_tensor(op.outputs, [&](const program::TensorRef& tensor) {
      const StorageId storage = tensor.storage;
      const bool written = op.writes && tensor.version > version_[storage];
      version_[storage] = std::max(version_[storage], tensor.version);
      switch (fixed_[storage]) {
        case Fixed::kNo:
          alive_[storage] = true;
          touch_storage(task, storage, true);
          return;
        case Fixed::kParameter:
        case Fixed::kInput:
        case Fixed::kConstant:
          if (written) problem_at(task, "operator {} writes a parameter, input or constant", op.id);
          return;
        case Fixed::kBuffer:
          if (written && !schedule_.training) {
            problem_at(task, "operator {} writes a buffer in a forward-only schedule", op.id);
          }
          return;
      }
    });
    for (const program::TensorRef& tensor : program::unreturned_writes(op)) {
      version_[tensor.storage] = std::max(version_[tensor.storage], tensor.version + 1);
      if (fixed_[tensor.storage] == Fixed::kBuffer && !schedule_.training) {
        problem_at(task, "operator {} writes a buffer in a forward-only schedule", op.id);
      }
    }
    // A replay lets go of everything but gradients and the loss after its last use.
    const auto let_go = [&](const program::TensorRef& tensor) {
      if (last_use_[tensor.storage] == op.id && !kept_[tensor.storage]) {
        alive_[tensor.storage] = false;
      }
    };
    program::for_each_tensor(op.arguments, let_go);
    program::for_each_tensor(op.outputs, let_go);
  }

  void read(const Task& task, const program::Operator& op, const program::TensorRef& tensor) {
    switch (fixed_[tensor.storage]) {
      case Fixed::kNo:
        if (!alive_[tensor.storage]) {
          problem_at(task, "operator {} reads storage {}, which is gone", op.id, tensor.storage);
        } else {
          touch_storage(task, tensor.storage, false);
        }
        return;
      case Fixed::kInput:
        if (inputs_of_ != task.micro_batch) {
          problem_at(task, "operator {} reads inputs of another micro-batch", op.id);
        }
        for (const Buffer& buffer : schedule_.buffers) {
          if (buffer.role == BufferRole::kInput) touch_buffer(task, buffer.id, false);
        }
        return;
      case Fixed::kParameter:
        return read_parameter(task, op, parameter_of_[tensor.storage]);
      case Fixed::kBuffer:
      case Fixed::kConstant:
        return;
    }
  }

  void read_parameter(const Task& task, const program::Operator& op, std::int32_t parameter) {
    const std::int32_t chunk = chunk_of_[parameter];
    if (plan_.chunks[chunk].parameter_home == Home::kDevice) {
      if (updated_[chunk]) {
        problem_at(task, "operator {} reads chunk {} after its update", op.id, chunk);
      }
      const BufferId home = find(BufferRole::kParameters, chunk);
      if (home >= 0) touch_buffer(task, home, false);
      return;
    }
    for (const Buffer& buffer : schedule_.buffers) {
      if (content_[buffer.id].chunk == chunk &&
          (buffer.role == BufferRole::kBlock || buffer.role == BufferRole::kPrivateBlock)) {
        touch_buffer(task, buffer.id, false);
        return;
      }
    }
    problem_at(task,
               "operator {} reads {} of chunk {}, which is in no block",
               op.id,
               program_.parameters[parameter].name,
               chunk);
  }

  void close(const Task& task) {
    if (closed_[task.micro_batch]) problem_at(task, "ends its micro-batch twice");
    closed_[task.micro_batch] = true;
    OperatorId next = next_operator_[task.micro_batch];
    const auto end = static_cast<OperatorId>(program_.operators.size());
    while (next < end && !runs(program_.operators[next])) ++next;
    if (next != end) problem_at(task, "operators from {} on are missing", next);
    for (std::size_t s = 0; s < alive_.size(); ++s) {
      if (alive_[s]) problem_at(task, "storage {} is never released", s);
      alive_[s] = false;
    }
  }

  void fetch(const Task& task) {
    on_stream(task, Stream::kHostToDevice);
    if (!needs_chunk(task)) return;
    const Chunk& chunk = plan_.chunks[task.chunk];
    if (chunk.parameter_home != Home::kHost ||
        task.source != find(BufferRole::kParameters, task.chunk) || task.destination < 0) {
      problem_at(task, "does not go from chunk {}'s home on the host to a block", task.chunk);
      return;
    }
    const Buffer& block = schedule_.buffers[task.destination];
    const bool fits_kind =
        chunk.kind == Chunk::Kind::kPublic
            ? block.role == BufferRole::kBlock
            : block.role == BufferRole::kPrivateBlock && block.chunk == task.chunk;
    if (!fits_kind || block.arena != Arena::kDevice) {
      problem_at(task, "buffer {} is no block for chunk {}", block.id, task.chunk);
    }
    if (block.bytes < chunk.bytes || task.bytes != chunk.bytes) {
      problem_at(task, "chunk {} has {} bytes, the block {}", task.chunk, chunk.bytes, block.bytes);
    }
    if (content_[block.id].chunk >= 0) {
      problem_at(task, "block {} still holds chunk {}", block.id, content_[block.id].chunk);
    }
    if (updated_[task.chunk]) problem_at(task, "fetches chunk {} after its update", task.chunk);
    touch_buffer(task, task.source, false);
    touch_buffer(task, block.id, true);
    content_[block.id] = {task.chunk, Content::What::kParameters};
  }

  void evict(const Task& task) {
    on_stream(task, Stream::kCompute);
    if (task.source < 0 || task.chunk < 0 || content_[task.source].chunk != task.chunk) {
      problem_at(task, "gives up chunk {}, which the block does not hold", task.chunk);
      return;
    }
    touch_buffer(task, task.source, true);
    content_[task.source] = {};
  }

  [[nodiscard]] bool trains(std::int32_t parameter) const {
    const auto& list = trained_in_[chunk_of_[parameter]];
    return std::find(list.begin(), list.end(), parameter) != list.end();
  }

  void store_gradient(const Task& task) {
    if (task.parameter < 0 || !trains(task.parameter) || task.micro_batch != current_) {
      problem_at(task, "stores what is no gradient of the running micro-batch");
      return;
    }
    const std::int32_t chunk = chunk_of_[task.parameter];
    const Chunk& it = plan_.chunks[chunk];
    const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
    const bool to_host = it.gradient_home == Home::kHost;
    const bool lands = to_host && schedule_.micro_batches > 1;
    on_stream(task, to_host ? Stream::kDeviceToHost : Stream::kCompute);
    if (!alive_[gradient.storage] || version_[gradient.storage] != gradient.version) {
      problem_at(task, "stores a gradient that is not there or not complete");
      return;
    }
    const BufferId where =
        find(lands ? BufferRole::kGradientLanding : BufferRole::kGradients, chunk);
    if (task.destination != where || task.chunk != chunk || where < 0) {
      problem_at(task, "stores into buffer {} instead of {}", task.destination, where);
      return;
    }
    touch_storage(task, gradient.storage, false);
    touch_gradient(task, where, task.parameter, true);
    if (lands) {
      if (landed_[task.parameter]) problem_at(task, "overwrites a gradient not yet added up");
      landed_[task.parameter] = true;
    } else {
      ++summed_[task.parameter];
    }
    if (++stored_[task.parameter] != task.micro_batch + 1) {
      problem_at(task, "is store {} in micro-batch {}", stored_[task.parameter], task.micro_batch);
    }
  }

  void accumulate(const Task& task) {
    on_stream(task, Stream::kCpu);
    if (task.parameter < 0 || !trains(task.parameter) || !landed_[task.parameter]) {
      problem_at(task, "adds a gradient that has not landed");
      return;
    }
    const std::int32_t chunk = chunk_of_[task.parameter];
    if (task.source != find(BufferRole::kGradientLanding, chunk) ||
        task.destination != find(BufferRole::kGradients, chunk) ||
        task.micro_batch != summed_[task.parameter]) {
      problem_at(task, "adds between the wrong buffers or out of order");
      return;
    }
    touch_gradient(task, task.source, task.parameter, false);
    touch_gradient(task, task.destination, task.parameter, true);
    landed_[task.parameter] = false;
    ++summed_[task.parameter];
  }

  /// Reads every gradient of a chunk from `buffer`, which must be complete.
  void read_gradients(const Task& task, BufferId buffer) {
    for (const std::int32_t parameter : trained_in_[task.chunk]) {
      if (summed_[parameter] != schedule_.micro_batches) {
        problem_at(task,
                   "the gradient of {} has {} of {} micro-batches",
                   program_.parameters[parameter].name,
                   summed_[parameter],
                   schedule_.micro_batches);
      }
      touch_gradient(task, buffer, parameter, false);
    }
  }

  void norm(const Task& task) {
    if (!needs_chunk(task)) return;
    const bool on_device = plan_.chunks[task.chunk].gradient_home == Home::kDevice;
    on_stream(task, on_device ? Stream::kCompute : Stream::kCpu);
    const BufferId gradients = find(BufferRole::kGradients, task.chunk);
    if (task.source != gradients || gradients < 0) {
      problem_at(task, "does not read the chunk's gradients");
      return;
    }
    if (normed_[task.chunk] >= 0) problem_at(task, "counts chunk {} twice", task.chunk);
    normed_[task.chunk] = task.id;
    read_gradients(task, gradients);
  }

  void clip(const Task& task) {
    on_stream(task, Stream::kCpu);
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      if (trained_in_[c].empty()) continue;
      if (normed_[c] < 0 || !ordered(normed_[c], task.id)) {
        problem_at(task, "does not wait for the norm of chunk {}", c);
      }
    }
  }

  void move_gradients(const Task& task) {
    if (!needs_chunk(task)) return;
    const Chunk& chunk = plan_.chunks[task.chunk];
    const bool to_device = chunk.optimizer_home == Home::kDevice;
    on_stream(task, to_device ? Stream::kHostToDevice : Stream::kDeviceToHost);
    const BufferId gradients = find(BufferRole::kGradients, task.chunk);
    if (task.source != gradients || gradients < 0 || task.destination < 0 ||
        schedule_.buffers[task.destination].role !=
            (to_device ? BufferRole::kDeviceStaging : BufferRole::kHostStaging) ||
        schedule_.buffers[task.destination].bytes < schedule_.buffers[gradients].bytes ||
        task.bytes > schedule_.buffers[task.destination].bytes) {
      problem_at(task, "does not go from the chunk's gradients to staging with room for them");
      return;
    }
    read_gradients(task, gradients);
    touch_buffer(task, task.destination, true);
    content_[task.destination] = {task.chunk, Content::What::kGradients};
  }

  void update(const Task& task) {
    if (!needs_chunk(task)) return;
    const Chunk& chunk = plan_.chunks[task.chunk];
    const bool on_device = chunk.optimizer_home == Home::kDevice;
    on_stream(task, on_device ? Stream::kCompute : Stream::kCpu);
    if (trained_in_[task.chunk].empty() || updated_[task.chunk]) {
      problem_at(task, "updates chunk {} twice or without gradients", task.chunk);
      return;
    }
    if (clip_ >= 0 && !ordered(clip_, task.id)) problem_at(task, "does not wait for the clip");
    const BufferId gradients = find(BufferRole::kGradients, task.chunk);
    if (chunk.gradient_home == chunk.optimizer_home) {
      if (task.source != gradients) problem_at(task, "does not read the chunk's gradients");
      read_gradients(task, gradients);
    } else if (task.source < 0 || content_[task.source].chunk != task.chunk ||
               content_[task.source].what != Content::What::kGradients) {
      problem_at(task, "reads staging that does not hold chunk {}'s gradients", task.chunk);
      return;
    } else {
      touch_buffer(task, task.source, false);
    }
    for (const BufferRole role :
         {BufferRole::kMaster, BufferRole::kMoment1, BufferRole::kMoment2}) {
      const BufferId state = find(role, task.chunk);
      if (state >= 0) touch_buffer(task, state, true);
    }
    const BufferId home = find(BufferRole::kParameters, task.chunk);
    updated_[task.chunk] = true;
    if (chunk.parameter_home == chunk.optimizer_home) {
      if (task.destination != home) problem_at(task, "does not write the chunk's parameters");
      home_again_[task.chunk] = true;
    } else if (chunk.dtype == DType::kFloat32) {
      if (task.destination != find(BufferRole::kMaster, task.chunk)) {
        problem_at(task, "does not leave the parameters in their master");
      }
    } else if (task.destination < 0 ||
               schedule_.buffers[task.destination].role !=
                   (on_device ? BufferRole::kDeviceStaging : BufferRole::kHostStaging) ||
               schedule_.buffers[task.destination].bytes < chunk.bytes) {
      problem_at(task, "does not write staging with room for chunk {}", task.chunk);
      return;
    } else {
      content_[task.destination] = {task.chunk, Content::What::kParameters};
    }
    if (task.destination >= 0) touch_buffer(task, task.destination, true);
  }

  void move_parameters(const Task& task) {
    if (!needs_chunk(task)) return;
    const Chunk& chunk = plan_.chunks[task.chunk];
    const bool to_device = chunk.parameter_home == Home::kDevice;
    on_stream(task, to_device ? Stream::kHostToDevice : Stream::kDeviceToHost);
    const BufferId home = find(BufferRole::kParameters, task.chunk);
    const BufferId master = find(BufferRole::kMaster, task.chunk);
    const bool from_master = chunk.dtype == DType::kFloat32 && master >= 0 && task.source == master;
    if (!updated_[task.chunk] || home_again_[task.chunk] || task.destination != home || home < 0 ||
        task.source < 0 ||
        (!from_master && (content_[task.source].chunk != task.chunk ||
                          content_[task.source].what != Content::What::kParameters))) {
      problem_at(task, "does not bring chunk {}'s updated parameters home", task.chunk);
      return;
    }
    touch_buffer(task, task.source, false);
    touch_buffer(task, home, true);
    home_again_[task.chunk] = true;
  }

  void read_loss(const Task& task) {
    on_stream(task, Stream::kDeviceToHost);
    const StorageId storage = program_.loss.storage;
    if (storage < 0 || !alive_[storage] || version_[storage] != program_.loss.version ||
        task.micro_batch != current_) {
      problem_at(task, "reads a loss that is not there");
      return;
    }
    touch_storage(task, storage, false);
    ++losses_read_[task.micro_batch];
  }

  // --- End of the step ---------------------------------------------------------------------------

  void check_end() {
    for (int m = 0; m < schedule_.micro_batches; ++m) {
      if (!closed_[m]) problem("micro-batch {} does not run to its end", m);
      if (program_.loss.storage >= 0 && losses_read_[m] != 1) {
        problem("the loss of micro-batch {} is read {} times", m, losses_read_[m]);
      }
    }
    for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
      if (trained_in_[c].empty()) continue;
      for (const std::int32_t parameter : trained_in_[c]) {
        if (summed_[parameter] != schedule_.micro_batches) {
          problem("the gradient of {} has {} of {} micro-batches",
                  program_.parameters[parameter].name,
                  summed_[parameter],
                  schedule_.micro_batches);
        }
      }
      if (!updated_[c]) {
        problem("chunk {} is never updated", c);
      } else if (!home_again_[c]) {
        problem("chunk {}'s updated parameters never come home", c);
      }
    }
  }

  const Schedule& schedule_;
  const program::Program& program_;
  const plan::Plan& plan_;
  std::vector<std::string> problems_;

  std::vector<std::array<TaskId, kStreamCount>> clocks_;  // latest finished task by stream
  std::unordered_map<std::int64_t, Touched> touched_;

  // By storage.
  std::vector<Fixed> fixed_;
  std::vector<std::int32_t> parameter_of_;
  std::vector<bool> kept_, alive_;
  std::vector<OperatorId> last_use_;
  std::vector<std::int32_t> version_;

  std::vector<bool> executed_;                         // by operator
  std::vector<std::int32_t> chunk_of_;                 // by parameter
  std::vector<std::vector<std::int32_t>> trained_in_;  // by chunk: parameters with gradients
  std::vector<int> stored_, summed_;                   // by parameter: micro-batches so far
  std::vector<bool> landed_;                           // by parameter
  std::vector<TaskId> normed_;                         // by chunk
  std::vector<bool> updated_, home_again_;             // by chunk
  std::vector<OperatorId> next_operator_;              // by micro-batch
  std::vector<bool> closed_;                           // by micro-batch
  std::vector<int> losses_read_;                       // by micro-batch
  std::vector<Content> content_;                       // by buffer
  std::map<std::pair<BufferRole, std::int32_t>, BufferId> by_role_;
  TaskId clip_ = -1;
  int current_ = -1;
  int inputs_of_ = -1;
};

}  // namespace

std::vector<std::string> check(const Schedule& schedule,
                               const program::Program& program,
                               const plan::Plan& plan) {
  return Checker(schedule, program, plan).run();
}

}  // namespace elixir::schedule
