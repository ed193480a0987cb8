// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/step/executor.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "core/error.h"
#include "program/names/labels.h"
#include "runtime/conforming_batch.h"
#include "runtime/micro_batch_seed.h"
#include "runtime/ranks/task_recorder.h"
#include "runtime/state/element.h"

namespace elixir::runtime {
namespace {

using schedule::BufferRole;
using schedule::Task;
using schedule::TaskKind;

/// Room for a scalar of any dtype.
constexpr std::int64_t kLossSlotBytes = 16;

/// Whether the step before must be settled before the task (schedule.h).
bool needs_settled_step(const Task& task) {
  switch (task.kind) {
    case TaskKind::kLoadInputs:
    case TaskKind::kFetch:
    case TaskKind::kGather:
    case TaskKind::kEvict:
    case TaskKind::kOffload:
    case TaskKind::kReload:
    case TaskKind::kUpdateMoments:  // of the step before, with its scalars
      return false;
    case TaskKind::kCompute:
      return !task.direct.empty();
    default:
      return true;
  }
}

/// `value` as the dtype has it. LibTorch's own conversion refuses what becomes infinite.
double rounded(double value, at::ScalarType type) {
  if (type == at::kDouble) return value;
  const float single = value > std::numeric_limits<float>::max()
                           ? std::numeric_limits<float>::infinity()
                           : static_cast<float>(value);
  if (type == at::kHalf) return static_cast<float>(at::Half(single));
  if (type == at::kBFloat16) return static_cast<float>(at::BFloat16(single));
  return single;
}

}  // namespace

Executor::Executor(const ExecutorParts& parts, schedule::Schedule schedule)
    : parts_(parts),
      grid_(plan::grid_of(parts.plan)),
      program_(parts.replay.program()),
      schedule_(std::move(schedule)),
      ends_(schedule::awaited_ends(schedule_)),
      tables_(static_cast<std::size_t>(schedule_.micro_batches)),
      chunks_(program_,
              parts.layouts,
              parts.plan.chunks.size(),
              parts.device.torch_device(),
              parts.poison,
              tables_),
      piece_layout_(schedule::update_piece_layout(parts.plan)),
      made_in_buffer_(program_.storages.size(), false) {
  for (std::size_t c = 0; c < parts_.plan.chunks.size(); ++c) {
    const auto at = [&](BufferRole role) {
      return parts_.buffers.find(role, static_cast<std::int32_t>(c));
    };
    homes_.push_back({.parameters = at(BufferRole::kParameters),
                      .master = at(BufferRole::kMaster),
                      .moment1 = at(BufferRole::kMoment1),
                      .moment2 = at(BufferRole::kMoment2),
                      .gradients = at(BufferRole::kGradients)});
  }
  for (auto& table : tables_) table.resize(program_.storages.size());
  for (const Task& task : schedule_.tasks) {
    for (const schedule::DirectGradient& direct : task.direct) {
      made_in_buffer_[program_.parameters[direct.parameter].gradient->storage] = true;
    }
  }
  if (const program::Input* gradient = loss_gradient()) {
    const auto reads = [&](const program::Operator& op) {
      bool found = false;
      program::for_each_tensor(op.arguments, [&](const program::TensorRef& tensor) {
        found |= tensor.storage == gradient->tensor.storage;
      });
      return found;
    };
    const auto reader = std::find_if(program_.operators.begin(), program_.operators.end(), reads);
    if (reader != program_.operators.end()) backward_begins_ = reader->id;
  }
  // One slot per micro-batch. Too small to be a buffer of the schedule.
  loss_slots_ = static_cast<char*>(parts_.device.allocate(
      schedule::Arena::kHost, {kLossSlotBytes * schedule_.micro_batches})[0]);
  bind_statics();
}

void Executor::bind_statics() {
  const c10::Device device = parts_.device.torch_device();
  const auto bind = [&](program::StorageId id, const c10::Storage& storage) {
    for (auto& table : tables_) table[id] = storage;
  };
  const auto bind_buffer = [&](program::StorageId id, BufferRole role, std::size_t position) {
    if (tables_.front()[id]) return;  // another name of the same storage
    void* memory = parts_.buffers.find(role, static_cast<std::int32_t>(position));
    require(memory != nullptr, "the schedule has no memory for a buffer or an input");
    bind(id, replay::borrow_storage(memory, program_.storages[id].bytes, device));
  };
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    bind_buffer(program_.buffers[i].tensor.storage, BufferRole::kModuleBuffer, i);
  }
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    bind_buffer(program_.inputs[i].tensor.storage, BufferRole::kInput, i);
  }
  for (const auto& [id, tensor] : parts_.constants) {
    if (program_.storages.at(id).on_host) {
      bind(id, tensor.storage());
    } else {
      bind_buffer(id, BufferRole::kConstant, static_cast<std::size_t>(id));
      parts_.device.copy_now(
          tables_.front()[id].mutable_data(), tensor.storage().data(), program_.storages[id].bytes);
    }
  }
  for (std::size_t c = 0; c < parts_.plan.chunks.size(); ++c) {
    const auto chunk = static_cast<std::int32_t>(c);
    if (!plan::needs_block(parts_.plan, parts_.plan.chunks[c])) {
      chunks_.bind(chunk, homes_[c].parameters);
    } else {
      chunks_.unbind(chunk);
    }
  }
}

const program::Input* Executor::loss_gradient() const {
  const bool given = schedule_.training && plan::takes_loss_gradient(parts_.plan.edits);
  return given ? &program_.inputs.back() : nullptr;
}

/// As an argument of a kernel, so that no copy has to come in time.
void Executor::fill_loss_gradient(std::int32_t micro_batch) {
  const program::TensorRef& gradient = loss_gradient()->tensor;
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const at::Tensor filled = replay::make_shell(tables_[micro_batch][gradient.storage], gradient);
  filled.fill_(
      rounded(loss_gradients_.at(static_cast<std::size_t>(micro_batch)), filled.scalar_type()));
}

const c10::Storage& Executor::storage_of(const program::Buffer& buffer) const {
  return tables_.front()[buffer.tensor.storage];
}

void Executor::release_everything() {
  for (auto& table : tables_) parts_.replay.release_produced(table);
  for (std::size_t c = 0; c < parts_.plan.chunks.size(); ++c) {
    if (plan::needs_block(parts_.plan, parts_.plan.chunks[c])) {
      chunks_.unbind(static_cast<std::int32_t>(c));
    }
  }
}

void Executor::abandon() noexcept {
  parts_.device.abandon_steps();
  release_everything();
  under_way_.clear();
}

template <class Work>
void Executor::guarded(Work work) {
  try {
    work();
  } catch (const c10::OutOfMemoryError& error) {
    const std::string what = error.what_without_backtrace();
    abandon();
    fail_if_rank_lost();
    fail_out_of_memory(what);
  } catch (const c10::Error& error) {
    const program::Operator* op = parts_.replay.failed_operator();
    const std::string what = error.what_without_backtrace();
    abandon();
    fail_if_rank_lost();
    throw Error(
        ErrorCode::kDeviceFailure, "operator {} failed: {}", op ? op->name : "(none)", what);
  } catch (...) {
    abandon();
    fail_if_rank_lost();
    throw;
  }
}

void Executor::fail_if_rank_lost() const {
  if (parts_.ranks.steps == nullptr) return;
  constexpr std::chrono::milliseconds kPatience{500};
  const auto lost = lost_within(*parts_.ranks.steps, kPatience);
  if (lost) throw Error(ErrorCode::kRankLost, *lost);
}

MicroBatches Executor::conforming_inputs(const MicroBatches& batch) const {
  return conforming(
      batch, program_, program_.inputs.size() - (loss_gradient() ? 1 : 0), tables_.size());
}

void Executor::issue(MicroBatches inputs,
                     std::uint64_t seed,
                     std::int64_t step,
                     const StepOptions& options,
                     const std::function<void()>& settle) {
  seed_ = seed;
  step_ = step;
  seeded_.assign(tables_.size(), false);
  guarded([&] {
    parts_.device.begin_step({.ids = ends_.size(), .ends = ends_, .timed = options.time_tasks});
    under_way_.push_back({.inputs = std::move(inputs), .timed = options.time_tasks});
    bool settled = false;
    for (const Task& task : schedule_.tasks) {
      if (!settled && needs_settled_step(task)) {
        settle();
        settled = true;
      }
      issue(task);
    }
    if (!settled) settle();
    // Operators' memory comes and goes in issue order, so the step's peak is known.
    under_way_.back().peak_device_bytes = parts_.device.peak_bytes();
    parts_.device.end_issue();
  });
  release_everything();
}

void Executor::make_late_moments() {
  if (parts_.optimizer == nullptr || !parts_.optimizer->owes_moments()) return;
  guarded([&] {
    parts_.device.begin_step({.ids = ends_.size(), .ends = ends_, .timed = false});
    for (const Task& task : schedule_.tasks) {
      if (task.kind == TaskKind::kUpdateMoments) {
        issue_update_moments(task, OptimizerPass::Due::kAll);
      }
    }
    parts_.device.end_issue();
    static_cast<void>(parts_.device.end_step());
  });
}

void Executor::replace_schedule(schedule::Schedule schedule) {
  schedule_ = std::move(schedule);
  ends_ = schedule::awaited_ends(schedule_);
}

StepReport Executor::finish() {
  StepReport report;
  guarded([&] {
    StepTimes times = parts_.device.end_step();
    report.step_ns = times.end_ns - std::max(times.begin_ns, last_end_ns_);
    last_end_ns_ = times.end_ns;
    if (under_way_.front().timed) report.tasks = std::move(times.tasks);
  });
  report.micro_losses = losses();
  const StepUnderWay& step = under_way_.front();
  if (step.timed) {
    auto& busy_ns = report.busy_ns.emplace();
    for (const Task& task : schedule_.tasks) {
      const schedule::TaskTime& time = report.tasks[task.id];
      busy_ns[static_cast<std::size_t>(task.stream)] += time.end_ns - time.start_ns;
    }
  }
  report.memory = {step.peak_device_bytes, parts_.buffers.host_bytes(), std::nullopt};
  ++finished_steps_;
  // It hardly changes, and the driver takes some time to answer.
  if (std::has_single_bit(finished_steps_)) {
    report.memory.used_gpu_bytes = parts_.device.used_gpu_bytes();
  }
  report.traffic = step.traffic;
  under_way_.pop_front();
  return report;
}

void Executor::wait_for_losses() {
  guarded([&] {
    for (const Task& task : schedule_.tasks) {
      if (task.kind == TaskKind::kReadLoss) parts_.device.wait_for(task.id);
    }
  });
}

void Executor::fail_out_of_memory(const std::string& what) {
  Error error =
      Error(ErrorCode::kOutOfMemory, what)
          .help(
              "plan again with a hardware document that has this model's operators measured "
              "(elixir-bench --operators), or with a smaller budget");
  if (const program::Operator* op = parts_.replay.failed_operator()) {
    error.note(fmt::format(
        "operator {} ({}) in {}", op->id, op->name, program::module_label(program_, *op)));
  }
  throw error;
}

std::vector<float> Executor::losses() const {
  std::vector<float> values;
  for (std::size_t m = 0; m < tables_.size(); ++m) {
    program::TensorRef scalar = program_.loss;
    scalar.sizes = scalar.strides = {};
    scalar.offset = 0;
    const at::Tensor loss = replay::make_shell(
        replay::borrow_storage(loss_slots_ + static_cast<std::int64_t>(m) * kLossSlotBytes,
                               kLossSlotBytes,
                               c10::Device(c10::kCPU)),
        scalar);
    values.push_back(loss.item<float>());
  }
  return values;
}

void Executor::run(const Task& task, Device::Body body) {
  TaskRecorder* recorder = parts_.ranks.recorder;
  if (recorder == nullptr) return parts_.device.issue(task, std::move(body));
  // A body has no room for another one.
  auto kept = std::make_unique<Device::Body>(std::move(body));
  parts_.device.issue(
      task, [recorder, step = step_, &task, kept = std::move(kept)](StreamOperations& operations) {
        recorder->begin(step, task);
        (*kept)(operations);
        recorder->end(task);
      });
}

void Executor::issue(const Task& task) {
  switch (task.kind) {
    case TaskKind::kLoadInputs:
      return issue_inputs(task);
    case TaskKind::kCompute:
      return issue_compute(task);
    case TaskKind::kFetch:
      ++under_way_.back().traffic.fetches;
      issue_copy(task,
                 advance(parts_.buffers.at(task.destination),
                         grid_.shard_of(parts_.ranks.rank()) * shard_bytes(task)),
                 homes_[task.chunk].parameters,
                 shard_bytes(task));
      if (grid_.shards() > 1) return;  // the others come by kGather
      return chunks_.bind(task.chunk, parts_.buffers.at(task.destination));
    case TaskKind::kGather:
      return issue_gather(task);
    case TaskKind::kReduce:
      return issue_reduce(task);
    case TaskKind::kStoreShard:
      return issue_copy(task,
                        memory_now(task.destination),
                        parts_.buffers.at(task.source),
                        task.bytes,
                        given_up(task.source, task.bytes));
    case TaskKind::kGatherSums:
      return run(task, [optimizer = parts_.optimizer](StreamOperations& operations) {
        optimizer->gather_sums(operations);
      });
    case TaskKind::kShareBuffers:
      return issue_share_buffers(task);
    case TaskKind::kEvict: {
      ++under_way_.back().traffic.evictions;
      chunks_.unbind(task.chunk);
      void* block = parts_.buffers.at(task.source);
      const std::int64_t bytes = parts_.poison ? schedule_.buffers[task.source].bytes : 0;
      return run(task, [block, bytes](StreamOperations& operations) {
        if (bytes > 0) operations.poison(block, bytes);
      });
    }
    case TaskKind::kStoreGradient:
      return issue_store_gradient(task);
    case TaskKind::kAccumulate:
      return issue_accumulate(task);
    case TaskKind::kGradientNorm:
      return issue_norm(task);
    case TaskKind::kClip:
      return run(task, [optimizer = parts_.optimizer](StreamOperations& operations) {
        optimizer->clip(operations);
      });
    case TaskKind::kMoveGradients:
      return issue_copy(task,
                        parts_.buffers.at(task.destination),
                        parts_.buffers.at(task.source),
                        plan::shard_bytes(parts_.plan,
                                          parts_.plan.chunks[task.chunk],
                                          parts_.plan.chunks[task.chunk].gradient_dtype));
    case TaskKind::kUpdateMoments:
      return issue_update_moments(task, OptimizerPass::Due::kInTurn);
    case TaskKind::kUpdate:
      return task.elements > 0 ? issue_update_of_piece(task) : issue_update(task);
    case TaskKind::kLoadState:
      return issue_load_state(task);
    case TaskKind::kStoreState:
      return issue_store_state(task);
    case TaskKind::kMoveParameters:
      return issue_copy(task,
                        parts_.buffers.at(task.destination),
                        parts_.buffers.at(task.source),
                        shard_bytes(task),
                        given_up(task.source, shard_bytes(task)));
    case TaskKind::kReadLoss:
      return issue_read_loss(task);
    case TaskKind::kOffload:
      return issue_offload(task);
    case TaskKind::kReload:
      return issue_reload(task);
  }
  require(false, "a task kind that the executor does not know");
}

void Executor::count_copy(schedule::Stream stream, std::int64_t bytes) {
  plan::Traffic& traffic = under_way_.back().traffic;
  if (schedule::copies_to_device(stream)) {
    traffic.host_to_device_bytes += bytes;
  }
  if (schedule::copies_to_host(stream)) traffic.device_to_host_bytes += bytes;
}

void Executor::issue_copy(
    const Task& task, void* to, const void* from, std::int64_t bytes, SpentMemory spent) {
  count_copy(task.stream, bytes);
  run(task, [to, from, bytes, spent](StreamOperations& operations) {
    operations.copy(to, from, bytes);
    if (spent.bytes > 0) operations.poison(spent.memory, spent.bytes);
  });
}

void* Executor::memory_now(schedule::BufferId id) const {
  void* const memory = parts_.buffers.at(id);
  const schedule::Buffer& buffer = schedule_.buffers[id];
  if (buffer.role != BufferRole::kGradients || buffer.chunk < 0) return memory;
  const plan::Chunk& chunk = parts_.plan.chunks[buffer.chunk];
  return advance(memory, plan::gradient_offset_bytes(parts_.plan, chunk, step_));
}

SpentMemory Executor::given_up(schedule::BufferId buffer, std::int64_t bytes) const {
  if (parts_.poison == nullptr || !schedule::is_passed_through(schedule_.buffers[buffer].role)) {
    return {};
  }
  return {.memory = parts_.buffers.at(buffer), .bytes = bytes};
}

void Executor::issue_inputs(const Task& task) {
  std::vector<TaskCopy> copies;
  const std::vector<at::Tensor>& inputs = under_way_.back().inputs[task.micro_batch];
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const program::TensorRef& ref = program_.inputs[i].tensor;
    void* memory = parts_.buffers.find(BufferRole::kInput, static_cast<std::int32_t>(i));
    copies.push_back({advance(memory, ref.offset * program::element_bytes(ref.dtype)),
                      inputs[i].const_data_ptr(),
                      ref.bytes()});
    count_copy(task.stream, ref.bytes());
  }
  run(task, [copies = std::move(copies)](StreamOperations& operations) {
    for (const TaskCopy& copy : copies) operations.copy(copy.to, copy.from, copy.bytes);
  });
}

void Executor::issue_compute(const Task& task) {
  replay::StorageTable& table = tables_[task.micro_batch];
  run(task, [&](StreamOperations& operations) {
    // The CPU device's allocator poisons operators' memory itself.
    std::function<void(const c10::Storage&)> before_release;
    if (parts_.poison != nullptr && parts_.device.torch_device().is_cuda()) {
      before_release = [&operations](const c10::Storage& storage) {
        if (!storage || !storage.device().is_cuda()) return;
        operations.poison(storage.mutable_data(), static_cast<std::int64_t>(storage.nbytes()));
      };
    }
    for (const program::StorageId id : task.releases) {
      if (before_release && !made_in_buffer_[id]) before_release(table[id]);
      table[id] = c10::Storage();
    }
    if (!seeded_[task.micro_batch]) {
      seeded_[task.micro_batch] = true;
      const int global = parts_.ranks.rank() * schedule_.micro_batches + task.micro_batch;
      parts_.device.seed(micro_batch_seed(seed_, step_, global));
    }
    if (task.first <= backward_begins_ && backward_begins_ < task.last) {
      fill_loss_gradient(task.micro_batch);
    }
    parts_.replay.run(table,
                      task.first,
                      task.last,
                      {.before_release = before_release, .given = give_memory(task)});
  });
}

/// Puts the memory of gradients that operators of the task write to buffers into the table. Returns
/// their storages.
std::vector<program::StorageId> Executor::give_memory(const Task& task) {
  std::vector<program::StorageId> given;
  for (const schedule::DirectGradient& direct : task.direct) {
    const program::StorageId storage = program_.parameters[direct.parameter].gradient->storage;
    void* memory =
        advance(parts_.buffers.at(direct.block), parts_.layouts[direct.parameter].offset_bytes);
    tables_[task.micro_batch][storage] = replay::borrow_storage(
        memory, program_.storages[storage].bytes, parts_.device.torch_device());
    given.push_back(storage);
  }
  return given;
}

void Executor::issue_read_loss(const Task& task) {
  const program::TensorRef& loss = program_.loss;
  const std::int64_t width = program::element_bytes(loss.dtype);
  const c10::Storage& storage = tables_[task.micro_batch][loss.storage];
  require(static_cast<bool>(storage), "the loss is read before it is made");
  issue_copy(task,
             loss_slots_ + task.micro_batch * kLossSlotBytes,
             static_cast<const char*>(storage.data()) + loss.offset * width,
             width);
}

void Executor::issue_offload(const Task& task) {
  const c10::Storage& storage = tables_[task.micro_batch][task.storage];
  require(static_cast<bool>(storage), "an activation leaves before it is made");
  issue_copy(task, parts_.buffers.at(task.destination), storage.data(), task.bytes);
}

void Executor::issue_reload(const Task& task) {
  const c10::Storage& storage = tables_[task.micro_batch][task.storage];
  require(static_cast<bool>(storage), "an activation has no memory to come back to");
  issue_copy(task,
             storage.mutable_data(),
             parts_.buffers.at(task.source),
             task.bytes,
             given_up(task.source, task.bytes));
}

}  // namespace elixir::runtime
