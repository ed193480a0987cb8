// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Random programs and plans: nothing is found in what lower() makes of them, and everything that
// can be taken away is missed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/check/cases.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using fakes::lower_case;
using fakes::random_case;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Check, FindsNothingInLoweredSchedulesOfRandomProgramsAndPlans) {
  int fetches = 0;
  int evictions = 0;
  int reloads = 0;
  int pieces = 0;
  int gathers = 0;
  int reductions = 0;
  int shares = 0;
  int reduced_once = 0;
  int reduced_by_nccl = 0;
  int shared_gradients = 0;
  int lent_gradients = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    EXPECT_THAT(check(schedule, c.program, c.plan), IsEmpty()) << "seed " << seed;
    reduced_once += c.lowering.training && plan::reduces_once(c.plan) ? 1 : 0;
    reduced_by_nccl += c.lowering.training && plan::reduces_by_nccl(c.plan) ? 1 : 0;
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.shares < 0) continue;
      ++(buffer.role == BufferRole::kOffloaded ? lent_gradients : shared_gradients);
    }
    for (const Task& task : schedule.tasks) {
      fetches += task.kind == TaskKind::kFetch ? 1 : 0;
      evictions += task.kind == TaskKind::kEvict ? 1 : 0;
      reloads += task.kind == TaskKind::kReload ? 1 : 0;
      pieces += task.kind == TaskKind::kStoreState ? 1 : 0;
      gathers += task.kind == TaskKind::kGather ? 1 : 0;
      reductions += task.kind == TaskKind::kReduce ? 1 : 0;
      shares += task.kind == TaskKind::kShareBuffers ? 1 : 0;
    }
  }
  EXPECT_GT(fetches, 1000);
  EXPECT_GT(evictions, 300);
  EXPECT_GT(reloads, 300);
  EXPECT_GT(pieces, 500);
  EXPECT_GT(gathers, 1000);
  EXPECT_GT(reductions, 1000);
  EXPECT_GT(shares, 20);
  EXPECT_GT(reduced_once, 20);
  EXPECT_GT(reduced_by_nccl, 20);
  EXPECT_GT(shared_gradients, 100);
  EXPECT_GT(lent_gradients, 20);
}

/// The schedule without task `gone`. Tasks that waited for it wait for what it waited for.
Schedule without(const Schedule& schedule, TaskId gone) {
  Schedule result = schedule;
  result.tasks.erase(result.tasks.begin() + gone);
  for (Task& task : result.tasks) {
    if (task.id > gone) --task.id;
    for (std::vector<TaskId>* others : {&task.after, &task.after_previous}) {
      std::erase(*others, gone);
      for (TaskId& other : *others) other -= other > gone ? 1 : 0;
    }
  }
  return result;
}

TEST(Check, FindsEveryRemovedTask) {
  int removed = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    for (const Task& task : schedule.tasks) {
      // Without the clip task, nothing shows that clipping was requested.
      if (task.kind == TaskKind::kClip) continue;
      EXPECT_THAT(check(without(schedule, task.id), c.program, c.plan), Not(IsEmpty()))
          << "seed " << seed << ", task " << task.id << " " << name_of(task.kind);
      ++removed;
    }
  }
  EXPECT_GT(removed, 1000);
}

/// Whether the schedule lets `before`, of the first of two steps, end before `task` starts; tasks
/// of the second step are counted on.
bool implied(const Schedule& schedule, TaskId before, TaskId task) {
  const auto tasks = static_cast<TaskId>(schedule.tasks.size());
  std::vector<bool> reached(static_cast<std::size_t>(task) + 1, false);
  std::array<bool, kStreamCount> on_stream{};  // some task of the stream is reached
  reached[before] = true;
  on_stream[static_cast<std::size_t>(schedule.tasks[before].stream)] = true;
  for (TaskId t = before + 1; t <= task; ++t) {
    const bool second = t >= tasks;
    const Task& here = schedule.tasks[second ? t - tasks : t];
    bool waits = on_stream[static_cast<std::size_t>(here.stream)];
    for (const TaskId other : here.after) waits = waits || reached[second ? other + tasks : other];
    if (second) {
      for (const TaskId other : here.after_previous) waits = waits || reached[other];
    }
    reached[t] = waits;
    if (waits) on_stream[static_cast<std::size_t>(here.stream)] = true;
  }
  return reached[task];
}

/// Moments wait for loads of the step before for speed alone.
bool is_for_speed(const Task& task, TaskKind other, bool previous) {
  return previous && task.kind == TaskKind::kUpdateMoments && other == TaskKind::kLoadState;
}

TEST(Check, FindsEveryDroppedDependencyThatNothingElseImplies) {
  int dropped = 0;
  int dropped_between_steps = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    const auto tasks = static_cast<TaskId>(schedule.tasks.size());
    for (const Task& task : schedule.tasks) {
      for (const bool previous : {false, true}) {
        const std::vector<TaskId> others = previous ? task.after_previous : task.after;
        for (std::size_t i = 0; i < others.size(); ++i) {
          if (is_for_speed(task, schedule.tasks[others[i]].kind, previous)) continue;
          Schedule broken = schedule;
          Task& there = broken.tasks[task.id];
          auto& waits = previous ? there.after_previous : there.after;
          waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
          if (implied(broken, others[i], previous ? task.id + tasks : task.id)) continue;
          EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty()))
              << "seed " << seed << ", task " << task.id << " " << name_of(task.kind) << " after "
              << others[i] << " " << name_of(schedule.tasks[others[i]].kind)
              << (previous ? " of the step before" : "");
          ++(previous ? dropped_between_steps : dropped);
        }
      }
    }
  }
  EXPECT_GT(dropped, 500);
  EXPECT_GT(dropped_between_steps, 100);
}

TEST(Check, FindsSquaresThatNobodySums) {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Case c = random_case(seed);
    const Schedule schedule = lower_case(c);
    for (const Task& task : schedule.tasks) {
      if (!task.sums_squares) continue;
      Schedule broken = schedule;
      broken.tasks[task.id].sums_squares = false;
      EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty()))
          << "seed " << seed << ", task " << task.id << " " << name_of(task.kind);
      ++found;
    }
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace elixir::schedule
