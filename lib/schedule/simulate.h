// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Discrete-event simulation of a schedule: time per stream and per task, and device and host memory
// in issue order. On the CPU device the streams share the cores, so tasks run one after another. On
// CUDA they overlap.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/operator_cost.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

struct TaskTime {
  double start_ns = 0, end_ns = 0;
};

struct MemoryPeak {
  std::int64_t bytes = 0;  ///< device, every allocation rounded up to 512
  TaskId task = -1;        ///< the task that reaches it
  program::OperatorId operator_id = -1;
  std::int64_t workspace_bytes = 0;  ///< included in `bytes`
  /// By program::Category.
  std::array<std::int64_t, program::kCategoryCount> by_category_bytes{};
};

struct Simulation {
  double step_ns = 0;
  std::array<double, kStreamCount> busy_ns{};
  std::vector<TaskTime> tasks;  ///< by task id
  MemoryPeak device;
  std::int64_t host_bytes = 0;           ///< static host buffers, each rounded up to 512
  std::int64_t device_buffer_bytes = 0;  ///< likewise on the device; included in `device`
  plan::Traffic traffic;
  std::int64_t operators_measured = 0;  ///< executed calls with a measured cost, out of …
  std::int64_t operators_total = 0;
};

/// By operator id; zero for calls that are not executed. To simulate many schedules of one program,
/// compute this once and reuse it.
using OperatorCosts = std::vector<hardware::OperatorCost>;
[[nodiscard]] OperatorCosts operator_costs(const program::Program& program,
                                           const program::Lifetimes& lifetimes,
                                           const hardware::CostModel& cost);

/// A storage comes or goes on the device.
struct DeviceChange {
  std::int64_t bytes = 0;  ///< rounded up to 512; negative when it goes
  program::Category category = program::Category::kTemporary;
};

/// What operators' storages change on the device, by operator, in one piece of memory.
class DeviceChanges {
 public:
  DeviceChanges(const program::Program& program, const program::Lifetimes& lifetimes);
  [[nodiscard]] std::span<const DeviceChange> when_it_starts(program::OperatorId op) const {
    return between(2 * static_cast<std::size_t>(op));
  }
  [[nodiscard]] std::span<const DeviceChange> when_it_ends(program::OperatorId op) const {
    return between(2 * static_cast<std::size_t>(op) + 1);
  }

 private:
  [[nodiscard]] std::span<const DeviceChange> between(std::size_t i) const {
    return {changes_.data() + begin_[i], changes_.data() + begin_[i + 1]};
  }
  std::vector<DeviceChange> changes_;
  std::vector<std::uint32_t> begin_;  ///< start and end of each operator; one more at the end
};

[[nodiscard]] Simulation simulate(const Schedule& schedule,
                                  const program::Program& program,
                                  const program::Lifetimes& lifetimes,
                                  const plan::Plan& plan,
                                  const hardware::CostModel& cost,
                                  const OperatorCosts& operators);
/// Same, with the costs from `cost`.
[[nodiscard]] Simulation simulate(const Schedule& schedule,
                                  const program::Program& program,
                                  const program::Lifetimes& lifetimes,
                                  const plan::Plan& plan,
                                  const hardware::CostModel& cost);

/// The simulation of lower()'s schedule, without the schedule in memory. To compare many plans of
/// one program, compute `needs` and `changes` once; `places` are those of the plan's parameters.
[[nodiscard]] Simulation lower_and_simulate(const program::Program& program,
                                            const program::Lifetimes& lifetimes,
                                            const ProgramNeeds& needs,
                                            const DeviceChanges& changes,
                                            const plan::Plan& plan,
                                            const std::vector<plan::Place>& places,
                                            const LoweringOptions& options,
                                            const hardware::CostModel& cost,
                                            const OperatorCosts& operators);

}  // namespace elixir::schedule
