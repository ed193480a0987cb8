// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "core/error.h"
#include "fakes/hardware.h"
#include "schedule/check/cases.h"
#include "schedule/simulate/few_tasks.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using ::testing::ElementsAre;

TEST(Lateness, IsTheTimeSinceAllThatATaskWaitsForHadEnded) {
  // The update of the step before ended at -6.
  const std::vector<TaskTime> times = {{-4, -2}, {0, 10}, {10, 30}, {37, 60}};
  const std::vector<double> late_ns = lateness_ns(offloaded(), times, 66);
  EXPECT_THAT(late_ns, ElementsAre(2, 2, 0, 7));
  const auto sums = by_stream(offloaded(), late_ns);
  EXPECT_EQ(sums[static_cast<std::size_t>(Stream::kHostToDevice)], 2);
  EXPECT_EQ(sums[static_cast<std::size_t>(Stream::kCompute)], 2);
  EXPECT_EQ(sums[static_cast<std::size_t>(Stream::kCpu)], 7);
}

TEST(Lateness, AStreamIsBusyWithTheStepBefore) {
  Schedule schedule;
  schedule.tasks = {task(0, Stream::kCompute, {}), task(1, Stream::kDeviceToHost, {0})};
  // The copy of the step before ended at 15; compute of that step at 0.
  EXPECT_THAT(lateness_ns(schedule, std::vector<TaskTime>{{3, 10}, {18, 25}}, 10),
              ElementsAre(3, 3));
}

TEST(Lateness, OneAfterAnotherNoneIsLate) {
  // By what it waits for, the copy could run beside the first task.
  Schedule schedule;
  schedule.tasks = {task(0, Stream::kCompute, {}),
                    task(1, Stream::kHostToDevice, {}),
                    task(2, Stream::kCompute, {1})};
  EXPECT_THAT(lateness_ns(schedule, std::vector<TaskTime>{{0, 2}, {2, 5}, {6, 10}}, 10),
              ElementsAre(0, 0, 1));
}

TEST(Lateness, IsNeverLessThanNothing) {
  const std::vector<TaskTime> times = {{-8, -2}, {-3, 10}, {10, 30}, {30, 60}};
  EXPECT_THAT(lateness_ns(offloaded(), times, 66), ElementsAre(0, 0, 0, 0));
}

TEST(Lateness, RefusesTimesOfAnotherSchedule) {
  EXPECT_THROW((void)lateness_ns(offloaded(), {}, 1), Error);
}

/// The simulator starts every task as soon as it may. (The step before it went a little
/// differently, as the first one: tasks that wait for that are left out.)
TEST(Lateness, OfASimulatedStepIsZero) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = fakes::random_case(seed);
    const Schedule schedule = fakes::lower_case(c);
    const int world = c.plan.world;
    const hardware::CostModel cost(
        world > 1 ? fakes::machine_of(world) : fakes::machine(seed % 5 != 0),
        {.world = world, .per_node = world, .replicas = c.plan.replicas});
    const Simulation simulation =
        simulate(schedule, c.program, program::analyse_lifetimes(c.program), c.plan, cost);
    const std::vector<double> late_ns = lateness_ns(schedule, simulation.tasks, simulation.step_ns);
    std::set<Stream> begun;
    for (const Task& task : schedule.tasks) {
      const bool first = begun.insert(task.stream).second;
      if (first || !task.after_previous.empty()) continue;
      EXPECT_NEAR(late_ns[task.id], 0, 1e-9 * simulation.step_ns) << "seed " << seed;
    }
    // Nothing in the step waits for its last task.
    std::vector<TaskTime> late = simulation.tasks;
    late.back().start_ns += simulation.step_ns / 2;
    late.back().end_ns += simulation.step_ns / 2;
    const double added_ns = lateness_ns(schedule, late, 2 * simulation.step_ns).back();
    EXPECT_GT(added_ns, 0.499 * simulation.step_ns) << "seed " << seed;
  }
}

}  // namespace
}  // namespace elixir::schedule
