// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate.h"

#include <gtest/gtest.h>

#include <numeric>

#include "edit/activations.h"
#include "edit/recompute.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "schedule/plans.h"
#include "schedule/simulate/simulate_plans.h"

namespace elixir::schedule {
namespace {

using fakes::lay_out;
using fakes::LayoutOptions;
using plan::Home;

struct Lowered {
  Schedule schedule;
  Simulation simulation;
};

Lowered run(const program::Program& program,
            const plan::Plan& plan,
            const hardware::CostModel& cost,
            const LoweringOptions& options = {}) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  Lowered result;
  result.schedule = lower(program, lifetimes, plan, options);
  result.simulation = simulate(result.schedule, program, lifetimes, plan, cost);
  return result;
}

/// y = x w; loss = mean(y), with bytes such that every rounding shows.
program::Program one_layer() {
  fakes::ProgramBuilder builder;
  const fakes::TensorRef x = builder.input("x", {10, 30}, program::DType::kFloat32);  // 1200 bytes
  const fakes::TensorRef w = builder.parameter("w", {30, 20});                        // 2400
  const fakes::TensorRef y = builder.call("aten::mm", {x, w}, {10, 20}, 12'000);      // 800
  const fakes::TensorRef loss = builder.call("aten::neg", {y}, {});                   // 4
  builder.set_loss(loss);
  builder.start_backward();
  const fakes::TensorRef g = builder.call("aten::neg", {loss}, {10, 20});       // 800
  builder.set_gradient(w, builder.call("aten::mm", {x, g}, {30, 20}, 12'000));  // 2400
  return builder.build();
}

/// Workspaces by operator; the other operators have none.
OperatorCosts costs_of(const std::vector<std::int64_t>& workspace_bytes) {
  OperatorCosts costs(workspace_bytes.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i].time_ns = 1000;
    costs[i].workspace_bytes = workspace_bytes[i];
  }
  return costs;
}

Simulation simulate_with(const program::Program& program,
                         const plan::Plan& plan,
                         const std::vector<std::int64_t>& workspace_bytes) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const hardware::CostModel cost(fakes::machine(false));
  return simulate(lower(program, lifetimes, plan, {}),
                  program,
                  lifetimes,
                  plan,
                  cost,
                  costs_of(workspace_bytes));
}

TEST(Simulate, PeakIsCountedByHand) {
  const program::Program program = one_layer();
  const plan::Plan plan = lay_out(program, {});
  // Static, each rounded to 512: x 1536, w (2560 in its chunk) 2560, gradients 2560, two moments 2
  // * 2560, sums of squares 512.
  const std::int64_t fixed = 1536 + 2560 + 2560 + 2 * 2560 + 512;
  // While operator 3 runs: loss 512, g 1024, the gradient 2560. y was released after operator 1.
  const Simulation simulation = simulate_with(program, plan, {0, 0, 0, 0});
  EXPECT_EQ(simulation.device.bytes, fixed + 512 + 1024 + 2560);
  EXPECT_EQ(simulation.device.operator_id, 3);
  EXPECT_EQ(simulation.host_bytes, 0);
  // A workspace counts only while its operator runs.
  const Simulation spiky = simulate_with(program, plan, {8000, 0, 0, 0});
  EXPECT_EQ(spiky.device.bytes, fixed + 1024 + 8192);
  EXPECT_EQ(spiky.device.operator_id, 0);
  EXPECT_EQ(spiky.device.workspace_bytes, 8192);
}

TEST(Simulate, CategoriesAndWorkspaceAddUpToThePeak) {
  const hardware::CostModel cost(fakes::machine(true));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const MemoryPeak peak = run(program, lay_out(program, {}), cost).simulation.device;
    EXPECT_EQ(
        std::accumulate(
            peak.by_category_bytes.begin(), peak.by_category_bytes.end(), peak.workspace_bytes),
        peak.bytes);
  }
}

TEST(Simulate, AGradientOnItsWayToTheHostIsNotFreeYet) {
  const program::Program program = fakes::mlp({128, 128, 128, 128}, 1);
  const hardware::CostModel cost(fakes::machine(true));
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  const std::int64_t waits = run(program, lay_out(program, options), cost).simulation.device.bytes;
  options.gradient_window_bytes = 10_MiB;
  const std::int64_t runs_on =
      run(program, lay_out(program, options), cost).simulation.device.bytes;
  // Weights' gradients (64 KiB each) accumulate instead of leaving one by one.
  EXPECT_GT(runs_on, waits + 64 * 1024);
}

TEST(Simulate, OnTheCpuTasksRunOneAfterAnother) {
  const program::Program program = fakes::transformer({});
  const hardware::CostModel cost(fakes::machine(false));
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 4;
  const Lowered result = run(program, lay_out(program, options), cost);
  double end = 0;
  for (const TaskTime& task : result.simulation.tasks) {
    EXPECT_EQ(task.start_ns, end);
    end = task.end_ns;
  }
  EXPECT_EQ(result.simulation.step_ns, end);
}

TEST(Simulate, OnAGpuStreamsOverlapAndRespectOrder) {
  const program::Program program = fakes::transformer({.hidden = 256});
  const hardware::CostModel cost(fakes::machine(true));
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 4;
  options.gradient_window_bytes = 10_MiB;
  const Lowered result = run(program, lay_out(program, options), cost);
  double busy = 0;
  for (const double stream : result.simulation.busy_ns) busy += stream;
  EXPECT_LT(result.simulation.step_ns, busy);
  for (const Task& task : result.schedule.tasks) {
    for (const TaskId before : task.after) {
      EXPECT_GE(result.simulation.tasks[task.id].start_ns, result.simulation.tasks[before].end_ns);
    }
  }
}

TEST(Simulate, TrafficCountsWhatTheCopyStreamsMove) {
  const program::Program program = fakes::mlp({64, 64, 64}, 4);
  const hardware::CostModel cost(fakes::machine(false));
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.chunk_bytes = 1;
  options.blocks = 2;
  const plan::Plan plan = lay_out(program, options);
  const plan::Traffic traffic = run(program, plan, cost).simulation.traffic;
  const std::int64_t weight = 64 * 64 * 4;
  const std::int64_t bias = 64 * 4;
  // Weight and bias are loaded for each layer. Those of the first layer are evicted and nothing is
  // loaded again, because backward starts with the second layer, which is still loaded.
  EXPECT_EQ(traffic.fetches, 4);
  EXPECT_EQ(traffic.evictions, 2);
  EXPECT_EQ(traffic.host_to_device_bytes, 2 * (weight + bias) + 4 * 64 * 4);
  EXPECT_EQ(traffic.device_to_host_bytes, 2 * (weight + bias) + 4);
}

TEST(Simulate, WithoutAScheduleInMemoryTheFiguresAreTheSame) {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
    const hardware::CostModel cost(fakes::machine(seed % 2 == 0));
    const plan::Plan plan =
        lay_out(program,
                {.chunk_bytes = 4096,
                 .parameters = Home::kHost,
                 .gradients = Home::kHost,
                 .optimizer = seed % 3 == 0 ? Home::kDevice : Home::kHost,
                 .blocks = 8,
                 .gradient_window_bytes = static_cast<std::int64_t>(seed % 3) * 1000,
                 .accumulation_steps = 1 + static_cast<int>(seed % 2)});
    const LoweringOptions options{.clip_gradients = seed % 4 < 2};
    const Simulation expected = run(program, plan, cost, options).simulation;
    const Simulation simulation = lower_and_simulate(program,
                                                     lifetimes,
                                                     program_needs(program, lifetimes, true),
                                                     DeviceChanges(program, lifetimes),
                                                     plan,
                                                     plan::locate_parameters(plan, program),
                                                     options,
                                                     cost,
                                                     operator_costs(program, lifetimes, cost));
    EXPECT_EQ(simulation.step_ns, expected.step_ns) << "seed " << seed;
    EXPECT_EQ(simulation.tasks.size(), expected.tasks.size());
    EXPECT_EQ(simulation.busy_ns, expected.busy_ns);
    EXPECT_EQ(simulation.device.bytes, expected.device.bytes);
    EXPECT_EQ(simulation.device.task, expected.device.task);
    EXPECT_EQ(simulation.device.by_category_bytes, expected.device.by_category_bytes);
    EXPECT_EQ(simulation.host_bytes, expected.host_bytes);
    EXPECT_EQ(simulation.traffic.fetches, expected.traffic.fetches);
  }
}

TEST(OperatorTimes, AreThoseOfExecutedCallsAndOfThoseThatRunAgain) {
  const program::Program program = fakes::transformer({.layers = 2});
  const hardware::CostModel cost(fakes::machine(true));
  const std::vector<std::int64_t> ns = operator_ns(program, cost);
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  ASSERT_EQ(ns.size(), program.operators.size());
  for (std::size_t op = 0; op < ns.size(); ++op) EXPECT_EQ(ns[op] > 0, lifetimes.executed[op]);
  EXPECT_EQ(recompute_ns(program, cost), 0);

  const program::Program edited =
      edit::recompute(program, edit::choose(program, edit::Recompute::kBlocks)).program;
  const std::vector<std::int64_t> edited_ns = operator_ns(edited, cost);
  std::int64_t again_ns = 0;
  for (const program::Operator& op : edited.operators) {
    if (op.repeats >= 0) again_ns += edited_ns[op.id];
  }
  EXPECT_GT(again_ns, 0);
  EXPECT_EQ(recompute_ns(edited, cost), again_ns);
}

TEST(Simulate, HostBytesAreTheHostBuffers) {
  const program::Program program = fakes::mlp({64, 64}, 4);
  const hardware::CostModel cost(fakes::machine(false));
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 2;
  // fp32 at home: parameters, gradients and two moments; the master is the parameter. A bias is
  // rounded up to 512.
  EXPECT_EQ(run(program, lay_out(program, options), cost).simulation.host_bytes,
            4 * (64 * 64 * 4 + 512));
}

}  // namespace
}  // namespace elixir::schedule
