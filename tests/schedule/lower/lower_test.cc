// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What a step does and in which order, whatever its gradients and updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <vector>

#include "core/error.h"
#include "fakes/program_builder.h"
#include "schedule/lower/lowered.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::count;
using fakes::kinds;
using fakes::lay_out;
using fakes::LayoutOptions;
using fakes::lower_plan;
using plan::Home;

TEST(Lower, RefusesMoreMicroBatchesThanAScheduleMayHave) {
  const program::Program program = fakes::transformer({.layers = 30});
  plan::Plan plan = lay_out(program, {});
  plan.accumulation_steps = 65'536;
  try {
    (void)lower_plan(program, plan);
    ADD_FAILURE() << "lowered";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInconsistentPlan);
  }
}

TEST(Lower, EverythingOnTheDeviceMovesNothingButInputsAndLoss) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  const Schedule schedule = lower_plan(program, lay_out(program, {}));
  for (const Task& task : schedule.tasks) {
    if (task.stream == Stream::kHostToDevice) {
      EXPECT_EQ(task.kind, TaskKind::kLoadInputs);
    } else if (task.stream == Stream::kDeviceToHost) {
      EXPECT_EQ(task.kind, TaskKind::kReadLoss);
    }
  }
  EXPECT_EQ(count(schedule, TaskKind::kUpdate), 4);
  EXPECT_EQ(count(schedule, TaskKind::kStoreGradient), 4);
}

TEST(Lower, ComputeRangesFollowEachOtherAndEndWithAnEmptyOne) {
  const program::Program program = fakes::transformer({});
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 4;
  options.accumulation_steps = 3;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  std::map<int, program::OperatorId> end;
  std::map<int, int> empty;
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kCompute) continue;
    EXPECT_EQ(task.first, end[task.micro_batch]);
    end[task.micro_batch] = task.last;
    if (task.first == task.last) ++empty[task.micro_batch];
  }
  ASSERT_EQ(end.size(), 3U);
  for (int m = 0; m < 3; ++m) {
    EXPECT_EQ(end[m], static_cast<int>(program.operators.size()));
    EXPECT_EQ(empty[m], 1);
  }
}

TEST(Lower, FetchesGoAsSoonAsTheirBlockIsFree) {
  const program::Program program = fakes::mlp({8, 8, 8, 8, 8}, 4);
  LayoutOptions options;
  options.parameters = Home::kHost;
  options.chunk_bytes = 512;  // weight and bias of a layer
  options.blocks = 2;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  // The first two are issued before any compute, each later one right after its eviction.
  std::vector<TaskKind> order = kinds(schedule);
  EXPECT_EQ(order[0], TaskKind::kLoadInputs);
  EXPECT_EQ(order[1], TaskKind::kFetch);
  EXPECT_EQ(order[2], TaskKind::kFetch);
  EXPECT_EQ(order[3], TaskKind::kCompute);
  for (std::size_t i = 3; i < order.size(); ++i) {
    if (order[i] != TaskKind::kFetch) continue;
    EXPECT_EQ(order[i - 1], TaskKind::kEvict);
    EXPECT_THAT(schedule.tasks[i].after, ::testing::Contains(static_cast<TaskId>(i) - 1));
  }
  // Uses are 0 1 2 3 3 2 1. (The input has no gradient, so backward does not read layer 0.) 2
  // evicts 0, 3 evicts 1, and 1 is loaded again.
  EXPECT_EQ(count(schedule, TaskKind::kFetch), 5);
  EXPECT_EQ(count(schedule, TaskKind::kEvict), 3);
}

TEST(Lower, TooFewBlocksAreRefused) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  LayoutOptions options;
  options.parameters = Home::kHost;
  options.blocks = 1;  // weight and bias are two chunks
  const plan::Plan plan = lay_out(program, options);
  try {
    (void)lower_plan(program, plan);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInconsistentPlan);
  }
}

TEST(Lower, ForwardOnlyRunsForwardAndReleasesEverything) {
  const program::Program program = fakes::transformer({});
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 4;
  const Schedule schedule = lower_plan(program, lay_out(program, options), {.training = false});
  for (const Task& task : schedule.tasks) {
    if (task.kind == TaskKind::kCompute) {
      for (program::OperatorId op = task.first; op < task.last; ++op) {
        EXPECT_EQ(program.operators[op].phase, program::Phase::kForward);
      }
    } else {
      EXPECT_TRUE(task.kind == TaskKind::kFetch || task.kind == TaskKind::kEvict ||
                  task.kind == TaskKind::kReadLoss || task.kind == TaskKind::kLoadInputs)
          << name_of(task.kind);
    }
  }
}

TEST(Lower, IsDeterministic) {
  const program::Program program = fakes::random_program(3);
  LayoutOptions options;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 8;
  const plan::Plan plan = lay_out(program, options);
  const Schedule a = lower_plan(program, plan);
  const Schedule b = lower_plan(program, plan);
  ASSERT_EQ(a.tasks.size(), b.tasks.size());
  for (std::size_t i = 0; i < a.tasks.size(); ++i) {
    EXPECT_EQ(a.tasks[i].kind, b.tasks[i].kind);
    EXPECT_EQ(a.tasks[i].after, b.tasks[i].after);
    EXPECT_EQ(a.tasks[i].releases, b.tasks[i].releases);
  }
}

}  // namespace
}  // namespace elixir::schedule
