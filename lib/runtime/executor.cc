// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <ATen/ops/empty_strided.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/units.h"
#include "runtime/micro_batch_seed.h"
#include "runtime/state/element.h"

namespace elixir::runtime {
namespace {

using schedule::BufferRole;
using schedule::Task;
using schedule::TaskKind;

/// Room for a scalar of any dtype.
constexpr std::int64_t kLossSlotBytes = 16;

char* advance(void* memory, std::int64_t bytes) {
  return static_cast<char*>(memory) + bytes;
}

/// Whether the step before must be settled before a task of this kind (schedule.h).
bool needs_settled_step(TaskKind kind) {
  switch (kind) {
    case TaskKind::kLoadInputs:
    case TaskKind::kFetch:
    case TaskKind::kGather:
    case TaskKind::kEvict:
    case TaskKind::kCompute:
    case TaskKind::kOffload:
    case TaskKind::kReload:
      return false;
    default:
      return true;
  }
}

/// `tensor` with the layout that the program requires.
at::Tensor conform(const at::Tensor& tensor, const program::Input& input) {
  const program::TensorRef& ref = input.tensor;
  if (!tensor.defined() || !tensor.device().is_cpu() || !tensor.sizes().equals(ref.sizes) ||
      tensor.scalar_type() != capture::scalar_type(ref.dtype)) {
    throw Error(ErrorCode::kDataMismatch,
                "input {} must be {}[{}] on the CPU",
                input.name,
                program::name_of(ref.dtype),
                fmt::join(ref.sizes, ", "));
  }
  if (tensor.strides().equals(ref.strides)) return tensor;
  at::Tensor laid_out = at::empty_strided(ref.sizes, ref.strides, tensor.options());
  laid_out.copy_(tensor);
  return laid_out;
}

}  // namespace

Executor::Executor(const ExecutorParts& parts, schedule::Schedule schedule)
    : parts_(parts),
      program_(parts.replay.program()),
      schedule_(std::move(schedule)),
      ends_(schedule::ends_that_matter(schedule_)),
      parameters_of_chunk_(parts.plan.chunks.size()),
      bound_(parts.plan.chunks.size()),
      piece_layout_(schedule::update_piece_layout(parts.plan)) {
  for (std::size_t i = 0; i < parts_.layouts.size(); ++i) {
    parameters_of_chunk_[parts_.layouts[i].chunk].push_back(static_cast<std::int32_t>(i));
  }
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
  tables_.resize(static_cast<std::size_t>(schedule_.micro_batches));
  for (auto& table : tables_) table.resize(program_.storages.size());
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
      bind_chunk(chunk, homes_[c].parameters);
    } else {
      unbind_chunk(chunk);
    }
  }
}

const c10::Storage& Executor::storage_of(const program::Buffer& buffer) const {
  return tables_.front()[buffer.tensor.storage];
}

void Executor::bind_chunk(std::int32_t chunk, void* memory) {
  require(memory != nullptr, "a chunk has no memory to be read from");
  const std::vector<c10::Storage>& storages = bound(chunk, memory).parameters;
  const std::vector<std::int32_t>& parameters = parameters_of_chunk_[chunk];
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const program::StorageId id = program_.parameters[parameters[i]].tensor.storage;
    for (auto& table : tables_) table[id] = storages[i];
  }
}

const Executor::BoundChunk& Executor::bound(std::int32_t chunk, void* memory) {
  std::vector<BoundChunk>& known = bound_[chunk];
  for (const BoundChunk& place : known) {
    if (place.memory == memory) return place;
  }
  BoundChunk& place = known.emplace_back(BoundChunk{.memory = memory, .parameters = {}});
  for (const std::int32_t p : parameters_of_chunk_[chunk]) {
    const program::StorageId id = program_.parameters[p].tensor.storage;
    place.parameters.push_back(
        replay::borrow_storage(advance(memory, parts_.layouts[p].offset_bytes),
                               program_.storages[id].bytes,
                               parts_.device.torch_device()));
  }
  return place;
}

void Executor::unbind_chunk(std::int32_t chunk) {
  if (parts_.poison) return bind_chunk(chunk, parts_.poison);
  for (const std::int32_t p : parameters_of_chunk_[chunk]) {
    for (auto& table : tables_) table[program_.parameters[p].tensor.storage] = c10::Storage();
  }
}

std::vector<std::vector<at::Tensor>> Executor::conforming(const MicroBatches& batch) const {
  if (batch.size() != tables_.size()) {
    throw Error(ErrorCode::kDataMismatch,
                "{} micro-batches given, the plan has {}",
                batch.size(),
                tables_.size());
  }
  std::vector<std::vector<at::Tensor>> inputs;
  for (const std::vector<at::Tensor>& micro_batch : batch) {
    if (micro_batch.size() != program_.inputs.size()) {
      throw Error(ErrorCode::kDataMismatch,
                  "{} inputs given, the program has {}",
                  micro_batch.size(),
                  program_.inputs.size());
    }
    std::vector<at::Tensor>& conforming = inputs.emplace_back();
    for (std::size_t i = 0; i < micro_batch.size(); ++i) {
      conforming.push_back(conform(micro_batch[i], program_.inputs[i]));
    }
  }
  return inputs;
}

void Executor::release_everything() {
  for (auto& table : tables_) parts_.replay.release_produced(table);
  for (std::size_t c = 0; c < parts_.plan.chunks.size(); ++c) {
    if (plan::needs_block(parts_.plan, parts_.plan.chunks[c])) {
      unbind_chunk(static_cast<std::int32_t>(c));
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
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks; ++look) {
    if (const auto lost = parts_.ranks.steps->lost()) throw Error(ErrorCode::kRankLost, *lost);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

void Executor::issue(const MicroBatches& batch,
                     std::uint64_t seed,
                     std::int64_t step,
                     const StepOptions& options,
                     const std::function<void()>& settle) {
  std::vector<std::vector<at::Tensor>> inputs = conforming(batch);
  seed_ = seed;
  step_ = step;
  seeded_.assign(tables_.size(), false);
  guarded([&] {
    parts_.device.begin_step({.ids = ends_.size(), .ends = ends_, .timed = options.time_tasks});
    under_way_.push_back({.inputs = std::move(inputs), .timed = options.time_tasks});
    bool settled = false;
    for (const Task& task : schedule_.tasks) {
      if (!settled && needs_settled_step(task.kind)) {
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

void Executor::replace_schedule(schedule::Schedule schedule) {
  schedule_ = std::move(schedule);
  ends_ = schedule::ends_that_matter(schedule_);
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
  for (const float loss : report.micro_losses) report.loss += loss;
  report.loss /= static_cast<double>(report.micro_losses.size());
  const StepUnderWay& step = under_way_.front();
  if (step.timed) {
    auto& busy_ns = report.busy_ns.emplace();
    for (const Task& task : schedule_.tasks) {
      const schedule::TaskTime& time = report.tasks[task.id];
      busy_ns[static_cast<std::size_t>(task.stream)] += time.end_ns - time.start_ns;
    }
  }
  report.memory = {step.peak_device_bytes, parts_.buffers.host_bytes()};
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
    const bool known =
        op->module >= 0 && static_cast<std::size_t>(op->module) < program_.modules.size();
    error.note(fmt::format("operator {} ({}) of module '{}'",
                           op->id,
                           op->name,
                           known ? program_.modules[op->module] : "?"));
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

void Executor::issue(const Task& task) {
  switch (task.kind) {
    case TaskKind::kLoadInputs:
      return issue_inputs(task);
    case TaskKind::kCompute:
      return issue_compute(task);
    case TaskKind::kFetch:
      ++under_way_.back().traffic.fetches;
      issue_copy(
          task,
          advance(parts_.buffers.at(task.destination), parts_.ranks.rank() * shard_bytes(task)),
          homes_[task.chunk].parameters,
          shard_bytes(task));
      if (parts_.plan.world > 1) return;  // the other shards come by kGather
      return bind_chunk(task.chunk, parts_.buffers.at(task.destination));
    case TaskKind::kGather:
      return issue_gather(task);
    case TaskKind::kReduce:
      return issue_reduce(task);
    case TaskKind::kStoreShard:
      return issue_copy(task,
                        parts_.buffers.at(task.destination),
                        parts_.buffers.at(task.source),
                        task.bytes,
                        given_up(task.source, task.bytes));
    case TaskKind::kGatherSums:
      return parts_.device.issue(task,
                                 [optimizer = parts_.optimizer](StreamOperations& operations) {
                                   optimizer->gather_sums(operations);
                                 });
    case TaskKind::kShareBuffers:
      return issue_share_buffers(task);
    case TaskKind::kEvict: {
      ++under_way_.back().traffic.evictions;
      unbind_chunk(task.chunk);
      void* block = parts_.buffers.at(task.source);
      const std::int64_t bytes = parts_.poison ? schedule_.buffers[task.source].bytes : 0;
      return parts_.device.issue(task, [block, bytes](StreamOperations& operations) {
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
      return parts_.device.issue(task,
                                 [optimizer = parts_.optimizer](StreamOperations& operations) {
                                   optimizer->clip(operations);
                                 });
    case TaskKind::kMoveGradients:
      return issue_copy(task,
                        parts_.buffers.at(task.destination),
                        parts_.buffers.at(task.source),
                        plan::shard_bytes(parts_.plan,
                                          parts_.plan.chunks[task.chunk],
                                          parts_.plan.chunks[task.chunk].gradient_dtype));
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
  if (stream == schedule::Stream::kHostToDevice || stream == schedule::Stream::kDeviceUpdate) {
    traffic.host_to_device_bytes += bytes;
  }
  if (stream == schedule::Stream::kDeviceToHost) traffic.device_to_host_bytes += bytes;
}

void Executor::issue_copy(
    const Task& task, void* to, const void* from, std::int64_t bytes, SpentMemory spent) {
  count_copy(task.stream, bytes);
  parts_.device.issue(task, [to, from, bytes, spent](StreamOperations& operations) {
    operations.copy(to, from, bytes);
    if (spent.bytes > 0) operations.poison(spent.memory, spent.bytes);
  });
}

SpentMemory Executor::given_up(schedule::BufferId buffer, std::int64_t bytes) const {
  if (parts_.poison == nullptr || !schedule::is_passed_through(schedule_.buffers[buffer].role)) {
    return {};
  }
  return {.memory = parts_.buffers.at(buffer), .bytes = bytes};
}

void Executor::issue_inputs(const Task& task) {
  std::vector<TaskCopy> copies;
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    const program::TensorRef& ref = program_.inputs[i].tensor;
    void* memory = parts_.buffers.find(BufferRole::kInput, static_cast<std::int32_t>(i));
    copies.push_back({advance(memory, ref.offset * program::element_bytes(ref.dtype)),
                      under_way_.back().inputs[task.micro_batch][i].const_data_ptr(),
                      ref.bytes()});
    count_copy(task.stream, ref.bytes());
  }
  parts_.device.issue(task, [copies = std::move(copies)](StreamOperations& operations) {
    for (const TaskCopy& copy : copies) operations.copy(copy.to, copy.from, copy.bytes);
  });
}

void Executor::issue_compute(const Task& task) {
  replay::StorageTable& table = tables_[task.micro_batch];
  parts_.device.issue(task, [&](StreamOperations& operations) {
    // The CPU device's allocator poisons operators' memory itself.
    std::function<void(const c10::Storage&)> before_release;
    if (parts_.poison != nullptr && parts_.device.torch_device().is_cuda()) {
      before_release = [&operations](const c10::Storage& storage) {
        if (!storage || !storage.device().is_cuda()) return;
        operations.poison(storage.mutable_data(), static_cast<std::int64_t>(storage.nbytes()));
      };
    }
    for (const program::StorageId id : task.releases) {
      if (before_release) before_release(table[id]);
      table[id] = c10::Storage();
    }
    if (!seeded_[task.micro_batch]) {
      seeded_[task.micro_batch] = true;
      const int global = parts_.ranks.rank() * schedule_.micro_batches + task.micro_batch;
      parts_.device.seed(micro_batch_seed(seed_, step_, global));
    }
    parts_.replay.run(table, task.first, task.last, before_release);
  });
}

const void* Executor::made_gradient(const Task& task) const {
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  const c10::Storage& storage = tables_[task.micro_batch][gradient.storage];
  require(static_cast<bool>(storage), "a gradient is read before it is made");
  return static_cast<const char*>(storage.data()) +
         gradient.offset * program::element_bytes(gradient.dtype);
}

kernels::BlockSums Executor::sums_of(const Task& task) const {
  return task.sums_squares ? parts_.optimizer->sums_of(task.parameter) : kernels::BlockSums{};
}

void Executor::issue_store_gradient(const Task& task) {
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  const ParameterLayout& layout = parts_.layouts[task.parameter];
  const void* from = made_gradient(task);
  const auto n = static_cast<std::size_t>(layout.elements);
  if (parts_.plan.world > 1) {
    void* block = advance(parts_.buffers.at(task.destination), layout.offset_bytes);
    return issue_copy(task, block, from, gradient.bytes());
  }
  const kernels::BlockSums sums = sums_of(task);
  if (schedule_.micro_batches > 1 && task.stream == schedule::Stream::kCompute) {
    return issue_accumulate(task, from, sums, {});
  }
  void* to = advance(parts_.buffers.at(task.destination),
                     layout.first_element * program::element_bytes(gradient.dtype));
  if (sums.sums == nullptr) return issue_copy(task, to, from, gradient.bytes());
  const kernels::Element type = element_of(gradient.dtype);
  parts_.device.issue(task, [to, from, type, n, sums](StreamOperations& operations) {
    operations.copy_and_sum_squares(to, from, type, n, sums);
  });
}

std::int64_t Executor::shard_bytes(const Task& task) const {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  return plan::shard_bytes(parts_.plan, chunk, chunk.dtype);
}

void Executor::issue_gather(const Task& task) {
  void* block = parts_.buffers.at(task.destination);
  const std::int64_t bytes = shard_bytes(task);
  const void* own = task.source >= 0 ? parts_.buffers.at(task.source)
                                     : advance(block, parts_.ranks.rank() * bytes);
  under_way_.back().traffic.collective_bytes += task.bytes;
  parts_.device.issue(task, [block, own, bytes](StreamOperations& operations) {
    operations.all_gather(block, own, bytes);
  });
  bind_chunk(task.chunk, block);
}

namespace {

/// Of gradients in `gradients`, a shard.
void sum_squares(StreamOperations& operations,
                 const void* gradients,
                 kernels::Element type,
                 const std::vector<OptimizerPass::Part>& parts) {
  for (const OptimizerPass::Part& part : parts) {
    operations.sum_squares(
        kernels::element_at(gradients, type, static_cast<std::size_t>(part.first_element)),
        type,
        static_cast<std::size_t>(part.elements),
        part.sums);
  }
}

}  // namespace

void Executor::issue_reduce(const Task& task) {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  const std::int64_t bytes = shard_bytes(task);
  const void* block = parts_.buffers.at(task.source);
  void* exchange = parts_.buffers.find(BufferRole::kExchange, -1);
  // On its way to the host a micro-batch's sum is alone.
  const bool adds = task.micro_batch > 0 && chunk.gradient_home == plan::Home::kDevice;
  const SumParts sum{.to = parts_.buffers.at(task.destination),
                     .to_type = element_of(chunk.gradient_dtype),
                     .from = exchange,
                     .type = element_of(chunk.dtype),
                     .parts = static_cast<std::size_t>(parts_.plan.world),
                     .n = static_cast<std::size_t>(plan::shard_elements(parts_.plan, chunk)),
                     .how = adds ? kernels::Accumulate::kAdd : kernels::Accumulate::kFirst};
  std::vector<OptimizerPass::Part> squares;
  if (task.sums_squares) squares = parts_.optimizer->parts_of(task.chunk);
  under_way_.back().traffic.collective_bytes += task.bytes;
  parts_.device.issue(
      task,
      [exchange, block, bytes, sum, squares = std::move(squares)](StreamOperations& operations) {
        operations.all_to_all(exchange, block, bytes);
        operations.sum_parts(sum);
        sum_squares(operations, sum.to, sum.to_type, squares);
      });
}

void Executor::issue_accumulate_shard(const Task& task) {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  auto* sum = static_cast<float*>(parts_.buffers.at(task.destination));
  const void* landed = parts_.buffers.at(task.source);
  const auto n = static_cast<std::size_t>(plan::shard_elements(parts_.plan, chunk));
  const auto how = task.micro_batch == 0 ? kernels::Accumulate::kFirst : kernels::Accumulate::kAdd;
  const SpentMemory read = given_up(task.source, static_cast<std::int64_t>(n * sizeof(float)));
  std::vector<OptimizerPass::Part> squares;
  if (task.sums_squares) squares = parts_.optimizer->parts_of(task.chunk);
  parts_.device.issue(
      task,
      [sum, landed, n, how, read, squares = std::move(squares)](StreamOperations& operations) {
        operations.accumulate(sum, landed, kernels::Element::kFloat32, n, how, {});
        if (read.bytes > 0) operations.poison(read.memory, read.bytes);
        sum_squares(operations, sum, kernels::Element::kFloat32, squares);
      });
}

void Executor::issue_share_buffers(const Task& task) {
  struct Shared {
    void* memory;
    std::int64_t bytes;
  };
  std::vector<Shared> shared;
  for (const program::Buffer& buffer : program_.buffers) {
    if (!buffer.mutated) continue;
    const c10::Storage& storage = storage_of(buffer);
    shared.push_back({storage.mutable_data(), static_cast<std::int64_t>(storage.nbytes())});
  }
  parts_.device.issue(task, [shared = std::move(shared)](StreamOperations& operations) {
    for (const Shared& buffer : shared) operations.broadcast(0, buffer.memory, buffer.bytes);
  });
}

void Executor::issue_accumulate(const Task& task) {
  if (parts_.plan.world > 1) return issue_accumulate_shard(task);
  const ParameterLayout& layout = parts_.layouts[task.parameter];
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  void* landed = advance(parts_.buffers.at(task.source),
                         layout.first_element * program::element_bytes(gradient.dtype));
  SpentMemory read;
  if (parts_.poison != nullptr) read = {.memory = landed, .bytes = gradient.bytes()};
  issue_accumulate(task, landed, sums_of(task), read);
}

void Executor::issue_accumulate(const Task& task,
                                const void* gradient,
                                const kernels::BlockSums& sums,
                                SpentMemory spent) {
  const ParameterLayout& layout = parts_.layouts[task.parameter];
  auto* sum = static_cast<float*>(parts_.buffers.at(task.destination)) + layout.first_element;
  const auto how = task.micro_batch == 0 ? kernels::Accumulate::kFirst : kernels::Accumulate::kAdd;
  const kernels::Element type = element_of(program_.parameters[task.parameter].gradient->dtype);
  const auto n = static_cast<std::size_t>(layout.elements);
  parts_.device.issue(task,
                      [sum, gradient, type, n, how, sums, spent](StreamOperations& operations) {
                        operations.accumulate(sum, gradient, type, n, how, sums);
                        if (spent.bytes > 0) operations.poison(spent.memory, spent.bytes);
                      });
}

void Executor::issue_norm(const Task& task) {
  const void* gradient = made_gradient(task);
  const kernels::Element type = element_of(program_.parameters[task.parameter].gradient->dtype);
  const auto n = static_cast<std::size_t>(parts_.layouts[task.parameter].elements);
  const kernels::BlockSums sums = parts_.optimizer->sums_of(task.parameter);
  parts_.device.issue(task, [gradient, type, n, sums](StreamOperations& operations) {
    operations.sum_squares(gradient, type, n, sums);
  });
}

OptimizerPass::Chunk Executor::arrays_at_home(const Task& task) const {
  const plan::Plan& plan = parts_.plan;
  const plan::Chunk& chunk = plan.chunks[task.chunk];
  const HomeMemory& home = homes_[task.chunk];
  const auto at = [&](void* memory, std::int64_t width) {
    return advance(memory, task.first_element * width);
  };
  const std::int64_t moment_bytes = program::element_bytes(plan.moment_dtype);
  return {.master = at(plan::master_is_parameter(chunk) ? home.parameters : home.master,
                       plan::master_bytes(plan, chunk)),
          .splits = plan::splits_master(plan, chunk),
          .moment1 = at(home.moment1, moment_bytes),
          .moment2 = at(home.moment2, moment_bytes),
          .moment_type = plan.moment_dtype,
          .gradients = at(home.gradients, program::element_bytes(chunk.gradient_dtype)),
          .gradient_type = chunk.gradient_dtype,
          .parameters = at(home.parameters, program::element_bytes(chunk.dtype)),
          .parameter_type = chunk.dtype,
          .first_element = task.first_element,
          .elements = task.elements};
}

OptimizerPass::Chunk Executor::arrays_of_piece(const Task& task, schedule::BufferId piece) const {
  void* memory = parts_.buffers.at(piece);
  OptimizerPass::Chunk arrays = arrays_at_home(task);
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  arrays.master = advance(memory, piece_layout_.master);
  arrays.moment1 = advance(memory, piece_layout_.moment1);
  arrays.moment2 = advance(memory, piece_layout_.moment2);
  if (chunk.gradient_home == plan::Home::kHost) {
    arrays.gradients = advance(memory, piece_layout_.gradients);
  }
  if (chunk.parameter_home == plan::Home::kHost) {
    arrays.parameters = chunk.dtype == program::DType::kFloat32
                            ? arrays.master
                            : advance(memory, piece_layout_.parameters);
  }
  return arrays;
}

TaskCopies Executor::state_copies(const Task& task,
                                  const OptimizerPass::Chunk& to,
                                  const OptimizerPass::Chunk& from) const {
  const plan::Plan& plan = parts_.plan;
  const std::int64_t n = task.elements;
  const std::int64_t moment_bytes = n * program::element_bytes(plan.moment_dtype);
  TaskCopies copies;
  copies.add({to.master, from.master, n * plan::master_bytes(plan, plan.chunks[task.chunk])});
  copies.add({to.moment1, from.moment1, moment_bytes});
  copies.add({to.moment2, from.moment2, moment_bytes});
  return copies;
}

void Executor::issue_copies(const Task& task, const TaskCopies& copies, SpentMemory spent) {
  for (std::size_t i = 0; i < copies.count; ++i) count_copy(task.stream, copies.all[i].bytes);
  parts_.device.issue(task, [copies, spent](StreamOperations& operations) {
    for (std::size_t i = 0; i < copies.count; ++i) {
      const TaskCopy& copy = copies.all[i];
      operations.copy(copy.to, copy.from, copy.bytes);
    }
    if (spent.bytes > 0) operations.poison(spent.memory, spent.bytes);
  });
}

void Executor::issue_load_state(const Task& task) {
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  const OptimizerPass::Chunk from = arrays_at_home(task);
  const OptimizerPass::Chunk to = arrays_of_piece(task, task.destination);
  TaskCopies copies = state_copies(task, to, from);
  const std::int64_t gradient_bytes = schedule::piece_gradient_bytes(chunk);
  // The gradients' place in the piece is written here and nowhere else.
  void* gradients = const_cast<void*>(to.gradients);
  if (gradient_bytes > 0) {
    copies.add({gradients, from.gradients, task.elements * gradient_bytes});
  }
  if (from.splits) {
    copies.add(
        {to.parameters, from.parameters, task.elements * schedule::piece_parameter_bytes(chunk)});
  }
  issue_copies(task, copies);
}

void Executor::issue_update_of_piece(const Task& task) {
  const OptimizerPass::Chunk arrays = arrays_of_piece(task, task.source);
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  // In fp32, parameters that live on the device are a copy of the master.
  const bool copies =
      chunk.dtype == program::DType::kFloat32 && chunk.parameter_home == plan::Home::kDevice;
  OptimizerPass::Chunk updated = arrays;
  if (copies) updated.parameters = updated.master;
  parts_.device.issue(task,
                      [optimizer = parts_.optimizer, index = task.chunk, arrays, updated, copies](
                          StreamOperations& operations) {
                        optimizer->update(index, updated, plan::Home::kDevice, operations);
                        if (!copies) return;
                        operations.copy(arrays.parameters,
                                        updated.master,
                                        arrays.elements * static_cast<std::int64_t>(sizeof(float)));
                      });
}

void Executor::issue_store_state(const Task& task) {
  const OptimizerPass::Chunk from = arrays_of_piece(task, task.source);
  const OptimizerPass::Chunk to = arrays_at_home(task);
  TaskCopies copies = state_copies(task, to, from);
  const std::int64_t parameter_bytes =
      schedule::piece_parameter_bytes(parts_.plan.chunks[task.chunk]);
  if (parameter_bytes > 0) {
    copies.add({to.parameters, from.parameters, task.elements * parameter_bytes});
  }
  issue_copies(task, copies, given_up(task.source, piece_layout_.bytes));
}

void Executor::issue_update(const Task& task) {
  OptimizerPass::Chunk arrays = arrays_at_home(task);
  arrays.gradients = parts_.buffers.at(task.source);
  arrays.parameters = parts_.buffers.at(task.destination);
  const plan::Home where =
      task.stream == schedule::Stream::kCpu ? plan::Home::kHost : plan::Home::kDevice;
  const plan::Chunk& chunk = parts_.plan.chunks[task.chunk];
  const SpentMemory read =
      given_up(task.source, plan::shard_bytes(parts_.plan, chunk, chunk.gradient_dtype));
  parts_.device.issue(task,
                      [optimizer = parts_.optimizer, index = task.chunk, arrays, where, read](
                          StreamOperations& operations) {
                        optimizer->update(index, arrays, where, operations);
                        if (read.bytes > 0) operations.poison(read.memory, read.bytes);
                      });
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
