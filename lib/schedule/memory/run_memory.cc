// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/memory/run_memory.h"

#include "program/lifetimes.h"
#include "schedule/buffers/buffers.h"
#include "schedule/memory/operator_memory.h"
#include "schedule/simulate.h"

namespace elixir::schedule {
namespace {

std::int64_t reserved_bytes(const Schedule& schedule,
                            const program::Program& program,
                            const program::Lifetimes& lifetimes) {
  constexpr int kDifferentSteps = 2;  // the first one allocates what stays
  return operator_memory(
             operator_events(
                 schedule, program, lifetimes, replay_scripts(program), kDifferentSteps))
      .peak_reserved_bytes;
}

}  // namespace

RunMemory run_memory(const plan::Plan& plan,
                     const program::Program& program,
                     const Schedule& training,
                     std::int64_t training_peak_bytes,
                     const program::Program* evaluation,
                     const hardware::CostModel& cost,
                     Workspaces workspaces) {
  RunMemory memory;
  const bool cuda = program.target.kind == program::Target::Kind::kCuda;
  const std::int64_t buffers = buffer_bytes(training.buffers, Arena::kDevice);
  memory.host_bytes = buffer_bytes(training.buffers, Arena::kHost);
  memory.training_gpu_bytes = training_peak_bytes;
  if (cuda) {
    memory.training_gpu_bytes =
        plan.budgets.gpu_context_bytes + buffers +
        reserved_bytes(training, program, program::analyse_lifetimes(program));
  }
  if (evaluation == nullptr) return memory;
  const program::Lifetimes lifetimes = program::analyse_lifetimes(*evaluation);
  const Schedule schedule = lower(*evaluation, lifetimes, plan, {.training = false});
  OperatorCosts costs(evaluation->operators.size());
  if (workspaces == Workspaces::kOfHardware) {
    costs = operator_costs(*evaluation, lifetimes, cost);
    // An estimated workspace is an upper bound. It must not refuse a run that may fit.
    for (hardware::OperatorCost& each : costs) {
      if (each.source != hardware::OperatorCost::Source::kMeasured) each.workspace_bytes = 0;
    }
  }
  const Simulation simulation = simulate(schedule, *evaluation, lifetimes, plan, cost, costs);
  memory.evaluation = evaluation_memory(training,
                                        schedule,
                                        lend_buffers(training, program, schedule, *evaluation),
                                        simulation.device.bytes);
  memory.host_bytes += memory.evaluation.own_host_bytes;
  memory.training_gpu_bytes += memory.evaluation.own_device_bytes;
  memory.evaluation_gpu_bytes = memory.evaluation.peak_device_bytes;
  if (cuda) {
    memory.evaluation_gpu_bytes = plan.budgets.gpu_context_bytes + buffers +
                                  memory.evaluation.own_device_bytes +
                                  reserved_bytes(schedule, *evaluation, lifetimes);
  }
  return memory;
}

}  // namespace elixir::schedule
