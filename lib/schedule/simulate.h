// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Discrete-event simulation of a schedule: time per stream and per task, device and host memory in
// issue order. On the CPU device streams share the cores and tasks run one after another; on CUDA
// they overlap.

#include <array>
#include <cstdint>
#include <vector>

#include "hardware/operator_cost.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

struct TaskTime {
  double start_ns = 0, end_ns = 0;
};

struct MemoryPeak {
  std::int64_t bytes = 0;  ///< device, every allocation rounded up to 512
  TaskId task = -1;        ///< where it is reached
  program::OperatorId operator_id = -1;
  std::int64_t workspace_bytes = 0;  ///< part of it
  /// By program::Category.
  std::array<std::int64_t, program::kCategoryCount> by_category_bytes{};
};

struct Simulation {
  double step_ns = 0;
  std::array<double, kStreamCount> busy_ns{};
  std::vector<TaskTime> tasks;  ///< by task id
  MemoryPeak device;
  std::int64_t host_bytes = 0;  ///< static host buffers, each rounded up to 512
  plan::Traffic traffic;
  std::int64_t operators_measured = 0;  ///< executed calls whose cost is measured, of …
  std::int64_t operators_total = 0;
};

/// By operator id; zero for calls that are not executed. Worth keeping when many schedules of one
/// program are simulated.
using OperatorCosts = std::vector<hardware::OperatorCost>;
[[nodiscard]] OperatorCosts operator_costs(const program::Program& program,
                                           const program::Lifetimes& lifetimes,
                                           const hardware::CostModel& cost);

[[nodiscard]] Simulation simulate(const Schedule& schedule,
                                  const program::Program& program,
                                  const program::Lifetimes& lifetimes,
                                  const plan::Plan& plan,
                                  const hardware::CostModel& cost,
                                  const OperatorCosts& operators);
/// With the costs of `cost`.
[[nodiscard]] Simulation simulate(const Schedule& schedule,
                                  const program::Program& program,
                                  const program::Lifetimes& lifetimes,
                                  const plan::Plan& plan,
                                  const hardware::CostModel& cost);

}  // namespace elixir::schedule
