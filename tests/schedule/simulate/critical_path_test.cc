// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/critical_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "core/error.h"
#include "fakes/hardware.h"
#include "schedule/check/cases.h"
#include "schedule/simulate/few_tasks.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using fakes::lower_case;
using fakes::random_case;

double on(const CriticalPath& path, Stream stream) {
  return path.by_stream_ns[static_cast<std::size_t>(stream)];
}

/// All at once: only how long they take counts.
std::vector<TaskTime> lasting(const std::vector<double>& durations_ns) {
  std::vector<TaskTime> times;
  for (const double ns : durations_ns) times.push_back({0, ns});
  return times;
}

// 4 copy, 10 forward, 20 backward, 30 update. The copy began beside the compute of the step before.
const std::vector<TaskTime> kTimes = {{-6, -2}, {0, 10}, {10, 30}, {30, 60}};

TEST(CriticalPath, GoesThroughTheUpdateThatTheNextStepWaitsFor) {
  const CriticalPath path = critical_path(offloaded(), kTimes, 66);
  EXPECT_EQ(on(path, Stream::kHostToDevice), 4);
  EXPECT_EQ(on(path, Stream::kCompute), 30);
  EXPECT_EQ(on(path, Stream::kCpu), 30);
  EXPECT_EQ(path.idle_ns, 2);
  EXPECT_EQ(path.total_ns(), 66);
}

TEST(CriticalPath, LeavesOutWhatIsHiddenBehindIt) {
  // Nobody waits for the update, which is a little shorter than compute.
  Schedule schedule = offloaded();
  schedule.tasks[0].after_previous.clear();
  std::vector<TaskTime> times = kTimes;
  times[3].end_ns -= 1;
  const CriticalPath path = critical_path(schedule, times, 30);
  EXPECT_EQ(on(path, Stream::kCompute), 30);
  EXPECT_EQ(path.total_ns(), 30);
}

TEST(CriticalPath, IsTheSlowestStreamWhereStreamsHardlyWaitForEachOther) {
  // Updates take longer than compute. Before they hold it up, some steps pass.
  Schedule schedule = offloaded();
  schedule.tasks[0].after_previous.clear();
  schedule.tasks[2].after_previous = {3};
  const std::vector<TaskTime> times = {{-6, -2}, {0, 10}, {10, 11}, {11, 31}};
  const CriticalPath path = critical_path(schedule, times, 21);
  EXPECT_EQ(on(path, Stream::kCpu), 20);
  EXPECT_EQ(on(path, Stream::kCompute), 1);
}

TEST(CriticalPath, MaySpanSeveralSteps) {
  // A copy waits for the update of the step before, which waited for the compute of the step before
  // it: 30 in two steps.
  Schedule schedule;
  schedule.tasks = {task(0, Stream::kHostToDevice, {}, {2}),
                    task(1, Stream::kCompute, {0}),
                    task(2, Stream::kCpu, {}, {1})};
  const CriticalPath path = critical_path(schedule, lasting({10, 10, 10}), 16);
  EXPECT_EQ(on(path, Stream::kHostToDevice), 5);
  EXPECT_EQ(on(path, Stream::kCompute), 5);
  EXPECT_EQ(on(path, Stream::kCpu), 5);
  EXPECT_EQ(path.idle_ns, 1);
}

TEST(CriticalPath, IsNotHiddenByALongFirstStep) {
  // The copies take the longest, though the update ends later in the first 30 steps.
  Schedule schedule;
  schedule.tasks = {task(0, Stream::kHostToDevice, {}),
                    task(1, Stream::kDeviceToHost, {}),
                    task(2, Stream::kCpu, {1})};
  const CriticalPath path = critical_path(schedule, lasting({103, 100, 100}), 103);
  EXPECT_EQ(on(path, Stream::kHostToDevice), 103);
  EXPECT_EQ(path.total_ns(), 103);
}

/// The longest time for each step, over all cycles of the graph.
class AllCycles {
 public:
  AllCycles(const Schedule& schedule, const std::vector<double>& durations_ns)
      : durations_ns_(durations_ns), waits_(durations_ns.size()) {
    std::array<TaskId, kStreamCount> first{}, last{};
    first.fill(-1);
    last.fill(-1);
    for (const Task& task : schedule.tasks) {
      for (const TaskId other : task.after) waits_[task.id].push_back({other, 0});
      for (const TaskId other : task.after_previous) waits_[task.id].push_back({other, 1});
      const auto stream = static_cast<std::size_t>(task.stream);
      if (last[stream] >= 0) waits_[task.id].push_back({last[stream], 0});
      if (first[stream] < 0) first[stream] = task.id;
      last[stream] = task.id;
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] >= 0) waits_[first[i]].push_back({last[i], 1});
    }
    for (const Task& task : schedule.tasks) {
      start_ = task.id;
      visited_.assign(durations_ns.size(), false);
      go(task.id, 0, 0);
    }
  }
  [[nodiscard]] double slowest_ns() const { return slowest_ns_; }

 private:
  void go(TaskId task, double ns, int steps) {
    visited_[task] = true;
    for (const auto& [other, back] : waits_[task]) {
      const double with_ns = ns + durations_ns_[task];
      if (other == start_) slowest_ns_ = std::max(slowest_ns_, with_ns / (steps + back));
      if (!visited_[other]) go(other, with_ns, steps + back);
    }
    visited_[task] = false;
  }

  const std::vector<double>& durations_ns_;
  std::vector<std::vector<std::pair<TaskId, int>>> waits_;
  TaskId start_ = 0;
  std::vector<bool> visited_;
  double slowest_ns_ = 0;
};

TEST(CriticalPath, IsTheSlowestOfAllCycles) {
  int over_several_steps = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
    Schedule schedule;
    std::vector<double> durations_ns;
    const int tasks = 3 + below(4);
    for (TaskId id = 0; id < tasks; ++id) {
      std::vector<TaskId> after, previous;
      for (TaskId other = 0; other < tasks; ++other) {
        if (other < id && below(4) == 0) after.push_back(other);
        if (below(5) == 0) previous.push_back(other);
      }
      schedule.tasks.push_back(task(id, static_cast<Stream>(below(kStreamCount)), after, previous));
      durations_ns.push_back(1 + below(100));
    }
    const double slowest_ns = AllCycles(schedule, durations_ns).slowest_ns();
    const CriticalPath path = critical_path(schedule, lasting(durations_ns), slowest_ns);
    EXPECT_NEAR(path.total_ns(), slowest_ns, 1e-9) << "seed " << seed;
    EXPECT_NEAR(path.idle_ns, 0, 1e-9) << "seed " << seed;
    over_several_steps += slowest_ns != std::floor(slowest_ns) ? 1 : 0;
  }
  EXPECT_GT(over_several_steps, 10);
}

TEST(CriticalPath, IsEveryTaskWhereOneRunsAfterTheOther) {
  // By what they wait for, the copy would be hidden.
  Schedule schedule;
  schedule.tasks = {task(0, Stream::kCompute, {}),
                    task(1, Stream::kHostToDevice, {}),
                    task(2, Stream::kCompute, {1}),
                    task(3, Stream::kCpu, {2})};
  const std::vector<TaskTime> times = {{0, 2}, {2, 5}, {5, 10}, {10, 17}};
  const CriticalPath path = critical_path(schedule, times, 18);
  EXPECT_EQ(on(path, Stream::kCompute), 7);
  EXPECT_EQ(on(path, Stream::kHostToDevice), 3);
  EXPECT_EQ(on(path, Stream::kCpu), 7);
  EXPECT_EQ(path.idle_ns, 1);
}

TEST(CriticalPath, IsNeverIdleForLessThanNothing) {
  // A step that was faster than the one whose tasks were timed.
  EXPECT_EQ(critical_path(offloaded(), kTimes, 50).idle_ns, 0);
}

TEST(CriticalPath, RefusesTimesOfAnotherSchedule) {
  EXPECT_THROW((void)critical_path(offloaded(), {}, 1), Error);
}

/// The simulator starts every task as soon as it may, so that a path without a gap explains the
/// step.
TEST(CriticalPath, ExplainsEverySimulatedStep) {
  int beside_compute = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    const int world = c.plan.world;
    const hardware::CostModel cost(
        world > 1 ? fakes::machine_of(world) : fakes::machine(seed % 5 != 0),
        {.world = world, .per_node = world, .replicas = c.plan.replicas});
    const Simulation simulation =
        simulate(schedule, c.program, program::analyse_lifetimes(c.program), c.plan, cost);
    const CriticalPath path = critical_path(schedule, simulation.tasks, simulation.step_ns);
    const double allowed_ns = 1e-9 * simulation.step_ns;
    EXPECT_NEAR(path.idle_ns, 0, allowed_ns) << "seed " << seed;
    // Where tasks slow each other down, they may take a little longer in the step that is shown
    // than in the next.
    EXPECT_LE(path.total_ns(), 1.0002 * simulation.step_ns) << "seed " << seed;
    for (int i = 0; i < kStreamCount; ++i) {
      const auto stream = static_cast<Stream>(i);
      EXPECT_LE(on(path, stream), simulation.busy_ns[static_cast<std::size_t>(i)] + allowed_ns)
          << "seed " << seed << ", " << name_of(stream);
      beside_compute += stream != Stream::kCompute && on(path, stream) > allowed_ns ? 1 : 0;
    }
  }
  EXPECT_GT(beside_compute, 400);
}

}  // namespace
}  // namespace elixir::schedule
