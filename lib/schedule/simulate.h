// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Discrete-event simulation of a schedule: time per stream and per task, and device and host memory
// in issue order. On the CPU device the streams share the cores, so tasks run one after another. On
// CUDA streams overlap, and so do steps: the times describe a step in the middle of a long run.

#include <array>
#include <cstdint>
#include <vector>

#include "hardware/operator_cost.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

struct TaskTime {
  double start_ns = 0,
         end_ns = 0;  ///< from the end of the compute stream's part of the step before
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
  double step_ns = 0;  ///< from the end of a step to the end of the next; tasks may end later
  std::array<double, kStreamCount> busy_ns{};  ///< longer where streams slow each other down
  std::vector<TaskTime> tasks;                 ///< by task id
  MemoryPeak device;
  std::int64_t host_bytes = 0;  ///< static host buffers, each rounded up to 512
  std::int64_t device_buffer_bytes =
      0;  ///< static device buffers, each rounded up to 512; included in `device`
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

/// What calls take in whole nanoseconds, by operator id: times for edit::frontier().
[[nodiscard]] std::vector<std::int64_t> operator_ns(const program::Program& program,
                                                    const hardware::CostModel& cost);
/// What the calls take that run a second time in a program with recomputation.
[[nodiscard]] std::int64_t recompute_ns(const program::Program& program,
                                        const hardware::CostModel& cost);

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

}  // namespace elixir::schedule
