// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "schedule/buffers/buffers.h"
#include "schedule/buffers/update_piece.h"
#include "schedule/memory/operator_memory.h"
#include "schedule/simulate/simulate_plans.h"
#include "schedule/simulate/timeline.h"
#include "schedule/task_sink.h"

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
    case BufferRole::kGradientBlock:
    case BufferRole::kReducedStaging:
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
    case BufferRole::kOffloaded:
      return Category::kActivation;
    case BufferRole::kDeviceStaging:
    case BufferRole::kUpdatePiece:
    case BufferRole::kHostStaging:
    case BufferRole::kGradientSums:
    case BufferRole::kRankSums:
    case BufferRole::kExchange:
      break;
  }
  return Category::kTemporary;
}

DeviceChange change_of(const program::Storage& storage, int sign) {
  const std::int64_t bytes = storage.on_host ? 0 : rounded_allocation(storage.bytes);
  return {sign * bytes, storage.category};
}

/// Device bytes in issue order.
class Memory {
 public:
  Memory(const std::vector<Buffer>& buffers,
         const program::Program& program,
         const DeviceChanges& changes)
      : program_(program), changes_(changes) {
    for (const Buffer& buffer : buffers) {
      if (buffer.arena == Arena::kDevice && buffer.shares < 0) {
        add({rounded_allocation(buffer.bytes), category_of(buffer.role)});
      }
    }
    add({changes.library_bytes(), Category::kTemporary});
    record_peak(-1, -1, 0);
  }

  void release(StorageId storage) { add(change_of(program_.storages[storage], -1)); }

  void run(TaskId task, OperatorId op, std::int64_t workspace_bytes) {
    for (const DeviceChange& change : changes_.when_it_starts(op)) add(change);
    record_peak(task, op, rounded_allocation(workspace_bytes));
    for (const DeviceChange& change : changes_.when_it_ends(op)) add(change);
  }

  [[nodiscard]] const MemoryPeak& peak() const { return peak_; }

 private:
  void add(const DeviceChange& change) {
    live_ += change.bytes;
    by_category_[static_cast<std::size_t>(change.category)] += change.bytes;
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
  const DeviceChanges& changes_;
  std::int64_t live_ = 0;
  std::array<std::int64_t, program::kCategoryCount> by_category_{};
  MemoryPeak peak_;
};

hardware::AdamWrites written_by(const Task& task, const plan::Chunk& chunk) {
  if (task.kind == TaskKind::kUpdateMoments) return hardware::AdamWrites::kMoments;
  const bool late = chunk.late_moments && task.stream == Stream::kCpu;
  return late ? hardware::AdamWrites::kParameters : hardware::AdamWrites::kAll;
}

double task_ns(const Task& task, const plan::Plan& plan, const hardware::CostModel& cost) {
  const auto elements = [&] {
    const plan::Chunk& chunk = plan.chunks[task.chunk];
    return task.elements > 0 ? task.elements : plan::shard_elements(plan, chunk);
  };
  // A copy's rate counts a byte read and a byte written for each of `bytes`. These passes state the
  // bytes they touch, so half of them is copied.
  const auto touched_ns = [&](Stream stream, std::int64_t bytes) {
    return stream == Stream::kCpu ? cost.host_copy_ns(bytes / 2) : cost.device_copy_ns(bytes / 2);
  };
  switch (task.kind) {
    case TaskKind::kOffload:
    case TaskKind::kReload:
      if (task.stream == Stream::kCompute) return cost.device_copy_ns(task.bytes);
      return task.kind == TaskKind::kOffload ? cost.device_to_host_ns(task.bytes)
                                             : cost.host_to_device_ns(task.bytes);
    case TaskKind::kLoadInputs:
    case TaskKind::kFetch:
    case TaskKind::kLoadState:
      return cost.host_to_device_ns(task.bytes);
    case TaskKind::kReadLoss:
    case TaskKind::kStoreState:
      return cost.device_to_host_ns(task.bytes);
    case TaskKind::kStoreGradient:
    case TaskKind::kMoveGradients:
    case TaskKind::kMoveParameters:
      if (task.stream == Stream::kDeviceUpdate) return cost.host_to_device_ns(task.bytes);
      if (copies_to_host(task.stream)) return cost.device_to_host_ns(task.bytes);
      return touched_ns(task.stream, task.bytes);
    case TaskKind::kAccumulate:
    case TaskKind::kGradientNorm:
      return touched_ns(task.stream, task.bytes);
    case TaskKind::kUpdateMoments:
    case TaskKind::kUpdate: {
      const plan::Chunk& chunk = plan.chunks[task.chunk];
      const hardware::AdamForm form{.gradient = chunk.gradient_dtype,
                                    .split = plan::splits_master(plan, chunk),
                                    .moments = plan.moment_dtype,
                                    .writes = written_by(task, chunk)};
      if (task.stream != Stream::kCpu) return cost.adam_gpu_ns(elements(), form);
      const LateShares shares = late_shares(plan, chunk);
      return cost.adam_cpu_ns(elements(), form) *
             (task.kind == TaskKind::kUpdate ? shares.parameters : shares.moments);
    }
    case TaskKind::kGather:
      return cost.all_gather_ns(task.bytes);
    case TaskKind::kReduce: {  // sums_ns() has the rest
      if (plan::reduces_by_nccl(plan)) return cost.reduce_scatter_ns(task.bytes);
      const plan::Chunk& chunk = plan.chunks[task.chunk];
      const std::int64_t shard_bytes = plan::shard_bytes(plan, chunk, chunk.gradient_dtype);
      return cost.all_to_all_ns(task.bytes) +
             (shares_parts(task, plan) ? cost.share_parts_ns(shard_bytes) : 0);
    }
    case TaskKind::kStoreShard:
      return cost.device_to_host_ns(task.bytes);
    case TaskKind::kGatherSums:
    case TaskKind::kShareBuffers:
      return cost.broadcast_ns(task.bytes);
    case TaskKind::kCompute:
    case TaskKind::kEvict:
    case TaskKind::kClip:
      break;
  }
  return 0;
}

/// The kernel of a reduction: it adds up, which reads a part from every rank and writes one, or
/// puts NCCL's sum in its place. It makes the sums of squares for the norm, too, unless the ranks
/// must share the sum first: then another one reads it.
double sums_ns(const Task& task, const plan::Plan& plan, const hardware::CostModel& cost) {
  const plan::Chunk& chunk = plan.chunks[task.chunk];
  const std::int64_t shard_bytes = plan::shard_bytes(plan, chunk, chunk.gradient_dtype);
  const std::int64_t sum_bytes =
      plan::reduces_by_nccl(plan) ? shard_bytes : shard_bytes / plan.replicas;
  const int passes = adds_to_sum(task, plan) ? 2 : 1;
  const std::int64_t squared = task.sums_squares && shares_parts(task, plan) ? shard_bytes : 0;
  return cost.device_copy_ns((plan::received_bytes(plan, chunk) + passes * sum_bytes + squared) /
                             2);
}

Timeline::Use use_of_cores(const Task& task, const plan::Plan& plan) {
  if (task.kind != TaskKind::kUpdate && task.kind != TaskKind::kUpdateMoments) {
    return Timeline::Use::kHostMemory;
  }
  switch (written_by(task, plan.chunks[task.chunk])) {
    case hardware::AdamWrites::kAll:
      break;
    case hardware::AdamWrites::kParameters:
      return Timeline::Use::kUpdateParameters;
    case hardware::AdamWrites::kMoments:
      return Timeline::Use::kUpdateMoments;
  }
  return Timeline::Use::kHostMemory;
}

Timeline::Use use_of(const Task& task, const plan::Plan& plan) {
  switch (task.stream) {
    case Stream::kDeviceUpdate:
      return Timeline::Use::kStateToDevice;
    case Stream::kHostToDevice:
      return Timeline::Use::kToDevice;
    case Stream::kUpdateToHost:
      return task.kind == TaskKind::kUpdate ? Timeline::Use::kNothing : Timeline::Use::kToHost;
    case Stream::kDeviceToHost:
      return Timeline::Use::kToHost;
    case Stream::kCpu:
      return use_of_cores(task, plan);
    case Stream::kCompute:
      return Timeline::Use::kCompute;
    case Stream::kCollective:
      return Timeline::Use::kCollective;
    case Stream::kReduce:
      return plan::reduces_by_nccl(plan) ? Timeline::Use::kNccl : Timeline::Use::kCollective;
  }
  return Timeline::Use::kNothing;
}

/// Takes each task as it comes.
class Simulator : public TaskSink {
 public:
  Simulator(const program::Program& program,
            const program::Lifetimes& lifetimes,
            const DeviceChanges& changes,
            const plan::Plan& plan,
            const hardware::CostModel& cost,
            const OperatorCosts& operators)
      : program_(program),
        lifetimes_(lifetimes),
        changes_(changes),
        plan_(plan),
        cost_(cost),
        operators_(operators),
        timeline_(cost.streams_serialize(),
                  cost.host_contentions(),
                  cost.sustained_clock(),
                  cost.gpu_contention()) {}

  void begin(const std::vector<Buffer>& buffers) override {
    memory_.emplace(buffers, program_, changes_);
    result_.host_bytes = buffer_bytes(buffers, Arena::kHost);
    result_.device_buffer_bytes = buffer_bytes(buffers, Arena::kDevice);
  }

  void take(Task&& task, std::span<const TaskId> after) override { run(task, after); }

  void run(const Task& task, std::span<const TaskId> after) {
    if (task.kind == TaskKind::kCompute) {
      const OperatorNs ns = compute(task);
      timeline_.add(task.stream, use_of(task, plan_), ns.all, after, ns.products);
    } else {
      timeline_.add(task.stream, use_of(task, plan_), task_ns(task, plan_, cost_), after);
    }
    if (task.kind == TaskKind::kReduce) {
      timeline_.then(Timeline::Use::kSums, sums_ns(task, plan_, cost_));
    }
    if (copies_to_device(task.stream)) {
      result_.traffic.host_to_device_bytes += task.bytes;
    }
    if (copies_to_host(task.stream) && task.kind != TaskKind::kUpdate) {
      result_.traffic.device_to_host_bytes += task.bytes;
    }
    if (task.kind == TaskKind::kGather || task.kind == TaskKind::kReduce) {
      result_.traffic.collective_bytes += task.bytes;
    }
    if (task.kind == TaskKind::kFetch) ++result_.traffic.fetches;
    if (task.kind == TaskKind::kEvict) ++result_.traffic.evictions;
  }

  void end(std::span<const StepLink> links) override { links_.assign(links.begin(), links.end()); }

  Simulation finish() {
    result_.step_ns = timeline_.steady_step_ns(links_);
    result_.tasks = timeline_.times();
    result_.busy_ns = timeline_.busy_ns();
    // Half of the range of 64 bits in nanoseconds: 146 years.
    constexpr double kLongestStepNs = 0x1p62;
    if (!(result_.step_ns < kLongestStepNs)) {
      throw Error(ErrorCode::kJsonBadValue,
                  "by the figures of the hardware profile a step takes more than a hundred years")
          .help("measure the machine again with elixir-bench");
    }
    result_.device = memory_->peak();
    return std::move(result_);
  }

 private:
  struct OperatorNs {
    double all = 0, products = 0;
  };

  OperatorNs compute(const Task& task) {
    OperatorNs ns;
    for (const StorageId storage : task.releases) {
      if (direct_.erase(storage) == 0) memory_->release(storage);
    }
    for (OperatorId op = task.first; op < task.last; ++op) {
      if (!lifetimes_.executed[op]) continue;
      for (const DirectGradient& direct : task.direct) {
        if (lifetimes_.gradient_ready[direct.parameter] != op) continue;
        const StorageId storage = program_.parameters[direct.parameter].gradient->storage;
        memory_->release(storage);  // what the operator's changes count
        direct_.insert(storage);
      }
      ns.all += operators_[op].time_ns;
      ns.products += operators_[op].product_ns;
      memory_->run(task.id, op, operators_[op].workspace_bytes);
      ++result_.operators_total;
      if (operators_[op].source == hardware::OperatorCost::Source::kMeasured) {
        ++result_.operators_measured;
      }
    }
    return ns;
  }

  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const DeviceChanges& changes_;
  const plan::Plan& plan_;
  const hardware::CostModel& cost_;
  const OperatorCosts& operators_;
  std::optional<Memory> memory_;
  std::set<StorageId> direct_;  ///< gradients of the micro-batch that are made in buffers
  Timeline timeline_;
  std::vector<StepLink> links_;
  Simulation result_;
};

}  // namespace

DeviceChanges::DeviceChanges(const program::Program& program, const program::Lifetimes& lifetimes)
    : library_bytes_(schedule::library_bytes(program)) {
  for (std::size_t op = 0; op < program.operators.size(); ++op) {
    begin_.push_back(static_cast<std::uint32_t>(changes_.size()));
    for (const StorageId storage : lifetimes.made_by[op]) {
      changes_.push_back(change_of(program.storages[storage], 1));
    }
    begin_.push_back(static_cast<std::uint32_t>(changes_.size()));
    for (const StorageId storage : lifetimes.released_after[op]) {
      changes_.push_back(change_of(program.storages[storage], -1));
    }
  }
  begin_.push_back(static_cast<std::uint32_t>(changes_.size()));
}

OperatorCosts operator_costs(const program::Program& program,
                             const program::Lifetimes& lifetimes,
                             const hardware::CostModel& cost) {
  OperatorCosts costs(program.operators.size());
  for (const program::Operator& op : program.operators) {
    if (lifetimes.executed[op.id]) costs[op.id] = cost.cost(op);
  }
  return costs;
}

std::vector<std::int64_t> operator_ns(const program::Program& program,
                                      const hardware::CostModel& cost) {
  std::vector<std::int64_t> result;
  for (const auto& each : operator_costs(program, program::analyse_lifetimes(program), cost)) {
    result.push_back(std::llround(each.time_ns));
  }
  return result;
}

std::int64_t recompute_ns(const program::Program& program, const hardware::CostModel& cost) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  std::int64_t ns = 0;
  for (const program::Operator& op : program.operators) {
    if (op.repeats >= 0 && lifetimes.executed[op.id]) ns += std::llround(cost.cost(op).time_ns);
  }
  return ns;
}

Simulation simulate(const Schedule& schedule,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes,
                    const plan::Plan& plan,
                    const hardware::CostModel& cost,
                    const OperatorCosts& operators) {
  const DeviceChanges changes(program, lifetimes);
  Simulator simulator(program, lifetimes, changes, plan, cost, operators);
  simulator.begin(schedule.buffers);
  std::vector<StepLink> links;
  for (const Task& task : schedule.tasks) {
    simulator.run(task, task.after);
    for (const TaskId previous : task.after_previous) links.push_back({task.id, previous});
  }
  simulator.end(links);
  return simulator.finish();
}

Simulation simulate(const Schedule& schedule,
                    const program::Program& program,
                    const program::Lifetimes& lifetimes,
                    const plan::Plan& plan,
                    const hardware::CostModel& cost) {
  return simulate(
      schedule, program, lifetimes, plan, cost, operator_costs(program, lifetimes, cost));
}

Simulation lower_and_simulate(const program::Program& program,
                              const program::Lifetimes& lifetimes,
                              const ProgramNeeds& needs,
                              const DeviceChanges& changes,
                              const plan::Plan& plan,
                              const std::vector<plan::Place>& places,
                              const LoweringOptions& options,
                              const hardware::CostModel& cost,
                              const OperatorCosts& operators) {
  Simulator simulator(program, lifetimes, changes, plan, cost, operators);
  lower_into(simulator, program, lifetimes, needs, plan, places, options);
  return simulator.finish();
}

}  // namespace elixir::schedule
