// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate.h"

#include <algorithm>

#include "core/allocation_unit.h"
#include "core/error.h"

namespace elixir::schedule {
namespace {

using program::Category;
using program::OperatorId;
using program::StorageId;

Category category_of(BufferRole role) {
  switch (role) {
    case BufferRole::kParameters:
    case BufferRole::kBlock:
    case BufferRole::kPrivateBlock:
      return Category::kParameter;
    case BufferRole::kGradients:
    case BufferRole::kGradientLanding:
      return Category::kGradient;
    case BufferRole::kMaster:
    case BufferRole::kMoment1:
    case BufferRole::kMoment2:
      return Category::kOptimizerState;
    case BufferRole::kModuleBuffer:
      return Category::kBuffer;
    case BufferRole::kInput:
      return Category::kInput;
    case BufferRole::kConstant:
      return Category::kConstant;
    case BufferRole::kDeviceStaging:
    case BufferRole::kHostStaging:
      break;
  }
  return Category::kTemporary;
}

/// Device bytes in issue order.
class Memory {
 public:
  Memory(const Schedule& schedule,
         const program::Program& program,
         const program::Lifetimes& lifetimes)
      : program_(program), lifetimes_(lifetimes), fresh_(program.operators.size()) {
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.arena == Arena::kDevice)
        add(category_of(buffer.role), rounded_allocation(buffer.bytes));
    }
    for (const program::Storage& storage : program.storages) {
      const OperatorId producer = lifetimes.storages[storage.id].producer;
      if (producer >= 0) fresh_[producer].push_back(storage.id);
    }
    record_peak(-1, -1, 0);
  }

  void release(StorageId storage) { change(storage, -1); }

  void run(TaskId task, OperatorId op, std::int64_t workspace_bytes) {
    for (const StorageId storage : fresh_[op]) change(storage, 1);
    record_peak(task, op, rounded_allocation(workspace_bytes));
    for (const StorageId storage : lifetimes_.released_after[op]) change(storage, -1);
  }

  [[nodiscard]] const MemoryPeak& peak() const { return peak_; }

 private:
  void add(Category category, std::int64_t bytes) {
    live_ += bytes;
    by_category_[static_cast<std::size_t>(category)] += bytes;
  }
  void change(StorageId storage, int sign) {
    const program::Storage& it = program_.storages[storage];
    add(it.category, sign * rounded_allocation(it.bytes));
  }
  void record_peak(TaskId task, OperatorId op, std::int64_t workspace_bytes) {
    if (live_ + workspace_bytes <= peak_.bytes) return;
    peak_ = {.bytes = live_ + workspace_bytes,
             .task = task,
             .operator_id = op,
             .workspace_bytes = workspace_bytes,
             .by_category_bytes = by_category_};
  }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  std::vector<std::vector<StorageId>> fresh_;  // by operator
  std::int64_t live_ = 0;
  std::array<std::int64_t, program::kCategoryCount> by_category_{};
  MemoryPeak peak_;
};

double task_ns(const Task& task, const plan::Plan& plan, const hardware::CostModel& cost) {
  const auto elements = [&] {
    const plan::Chunk& chunk = plan.chunks[task.chunk];
    return chunk.bytes / program::element_bytes(chunk.dtype);
  };
  // A copy's rate counts a byte read and a byte written for each of `bytes`. These passes state the
  // bytes they touch, so half of them is copied.
  const auto touched_ns = [&](Stream stream, std::int64_t bytes) {
    return stream == Stream::kCpu ? cost.host_copy_ns(bytes / 2) : cost.device_copy_ns(bytes / 2);
  };
  switch (task.kind) {
    case TaskKind::kLoadInputs:
    case TaskKind::kFetch:
      return cost.host_to_device_ns(task.bytes);
    case TaskKind::kReadLoss:
      return cost.device_to_host_ns(task.bytes);
    case TaskKind::kStoreGradient:
    case TaskKind::kMoveGradients:
    case TaskKind::kMoveParameters:
      if (task.stream == Stream::kHostToDevice) return cost.host_to_device_ns(task.bytes);
      if (task.stream == Stream::kDeviceToHost) return cost.device_to_host_ns(task.bytes);
      return touched_ns(task.stream, task.bytes);
    case TaskKind::kAccumulate:
    case TaskKind::kGradientNorm:
      return touched_ns(task.stream, task.bytes);
    case TaskKind::kUpdate: {
      const program::DType gradient = plan.chunks[task.chunk].gradient_dtype;
      return task.stream == Stream::kCpu ? cost.adam_cpu_ns(elements(), gradient)
                                         : cost.adam_gpu_ns(elements(), gradient);
    }
    case TaskKind::kCompute:
    case TaskKind::kEvict:
    case TaskKind::kClip:
      break;
  }
  return 0;
}

}  // namespace

OperatorCosts operator_costs(const program::Program& program,
                             const program::Lifetimes& lifetimes,
                             const hardware::CostModel& cost) {
  OperatorCosts costs(program.operators.size());
  for (const program::Operator& op : program.operators) {
    if (lifetimes.executed[op.id]) costs[op.id] = cost.cost(op);
  }
  return costs;
}

Simulation simulate(const Schedule& schedule,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes,
                    const plan::Plan& plan,
                    const hardware::CostModel& cost,
                    const OperatorCosts& operators) {
  Simulation result;
  result.tasks.resize(schedule.tasks.size());
  Memory memory(schedule, program, lifetimes);
  std::array<double, kStreamCount> stream_free_ns{};
  for (const Task& task : schedule.tasks) {
    double duration_ns = 0;
    if (task.kind == TaskKind::kCompute) {
      for (const StorageId storage : task.releases) memory.release(storage);
      for (OperatorId op = task.first; op < task.last; ++op) {
        if (!lifetimes.executed[op]) continue;
        duration_ns += operators[op].time_ns;
        memory.run(task.id, op, operators[op].workspace_bytes);
        ++result.operators_total;
        if (operators[op].source == hardware::OperatorCost::Source::kMeasured) {
          ++result.operators_measured;
        }
      }
    } else {
      duration_ns = task_ns(task, plan, cost);
    }
    const auto stream = static_cast<std::size_t>(task.stream);
    double start_ns = cost.streams_serialize() ? result.step_ns : stream_free_ns[stream];
    for (const TaskId before : task.after) {
      start_ns = std::max(start_ns, result.tasks[before].end_ns);
    }
    result.tasks[task.id] = {start_ns, start_ns + duration_ns};
    stream_free_ns[stream] = start_ns + duration_ns;
    result.busy_ns[stream] += duration_ns;
    result.step_ns = std::max(result.step_ns, start_ns + duration_ns);
    if (task.stream == Stream::kHostToDevice) result.traffic.host_to_device_bytes += task.bytes;
    if (task.stream == Stream::kDeviceToHost) result.traffic.device_to_host_bytes += task.bytes;
    if (task.kind == TaskKind::kFetch) ++result.traffic.fetches;
    if (task.kind == TaskKind::kEvict) ++result.traffic.evictions;
  }
  // Half of the range of 64 bits in nanoseconds: 146 years.
  constexpr double kLongestStepNs = 0x1p62;
  if (!(result.step_ns < kLongestStepNs)) {
    throw Error(ErrorCode::kJsonBadValue,
                "by the figures of the hardware profile a step takes more than a hundred years")
        .help("measure the machine again with elixir-bench");
  }
  result.device = memory.peak();
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.arena == Arena::kHost) result.host_bytes += rounded_allocation(buffer.bytes);
  }
  return result;
}

Simulation simulate(const Schedule& schedule,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes,
                    const plan::Plan& plan,
                    const hardware::CostModel& cost) {
  return simulate(
      schedule, program, lifetimes, plan, cost, operator_costs(program, lifetimes, cost));
}

}  // namespace elixir::schedule
