// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// When chunks are updated, and where.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

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

TEST(Lower, ClippingWaitsForEveryGradient) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  const Schedule schedule =
      lower_plan(program, lay_out(program, options), {.clip_gradients = true});
  const std::vector<TaskKind> order = kinds(schedule);
  const auto clip = std::find(order.begin(), order.end(), TaskKind::kClip);
  ASSERT_NE(clip, order.end());
  EXPECT_EQ(std::count(order.begin(), clip, TaskKind::kGradientNorm), 4);
  EXPECT_EQ(std::count(order.begin(), clip, TaskKind::kUpdate), 0);
  EXPECT_EQ(std::count(clip, order.end(), TaskKind::kUpdate), 4);
  EXPECT_EQ(schedule.tasks[static_cast<std::size_t>(clip - order.begin())].stream, Stream::kCompute)
      << "no update on the device waits for the host";
}

TEST(Lower, WithoutClippingTheLastLayerIsUpdatedBeforeTheFirstIsDone) {
  const program::Program program = fakes::mlp({8, 8, 8}, 4);
  LayoutOptions options;
  options.gradients = options.optimizer = Home::kHost;
  const std::vector<TaskKind> order = kinds(lower_plan(program, lay_out(program, options)));
  const auto update = std::find(order.begin(), order.end(), TaskKind::kUpdate);
  EXPECT_NE(std::find(update, order.end(), TaskKind::kStoreGradient), order.end());
}

TEST(Lower, UpdatesElsewhereMoveGradientsThereAndParametersBack) {
  const program::Program program = fakes::mlp({8, 8}, 4, program::DType::kBFloat16);
  LayoutOptions options;
  options.optimizer = Home::kHost;
  const plan::Plan plan = lay_out(program, options);
  const Schedule schedule = lower_plan(program, plan);
  for (const Task& task : schedule.tasks) {
    const auto role = [&](BufferId id) { return schedule.buffers[id].role; };
    if (task.kind == TaskKind::kMoveGradients) {
      EXPECT_EQ(task.stream, Stream::kUpdateToHost);
      EXPECT_EQ(role(task.source), BufferRole::kGradients);
      EXPECT_EQ(role(task.destination), BufferRole::kHostStaging);
    }
    if (task.kind == TaskKind::kUpdate) {
      EXPECT_EQ(task.stream, Stream::kCpu);
      EXPECT_EQ(role(task.source), BufferRole::kHostStaging);
      EXPECT_EQ(role(task.destination), BufferRole::kHostStaging);
    }
    if (task.kind == TaskKind::kMoveParameters) {
      EXPECT_EQ(task.stream, Stream::kDeviceUpdate);
      EXPECT_EQ(role(task.destination), BufferRole::kParameters);
    }
  }
  EXPECT_EQ(count(schedule, TaskKind::kMoveGradients), 2);
  EXPECT_EQ(count(schedule, TaskKind::kMoveParameters), 2);
}

TEST(Lower, AnFp32MasterElsewhereIsMovedHomeAsItIs) {
  const program::Program program = fakes::mlp({8, 8}, 4);
  LayoutOptions options;
  options.optimizer = Home::kHost;
  const Schedule schedule = lower_plan(program, lay_out(program, options));
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kMoveParameters) continue;
    EXPECT_EQ(schedule.buffers[task.source].role, BufferRole::kMaster);
  }
}

TEST(Lower, FrozenAndUnusedParametersHaveNoGradientsAndNoUpdate) {
  fakes::TransformerOptions shape;
  shape.frozen_layers = 2;
  const program::Program program = fakes::transformer(shape);
  const plan::Plan plan = lay_out(program, {});
  const Schedule schedule = lower_plan(program, plan);
  for (const Task& task : schedule.tasks) {
    if (task.kind == TaskKind::kUpdate) {
      EXPECT_TRUE(plan::is_trained(plan.chunks[task.chunk], program));
    }
  }
  EXPECT_GT(count(schedule, TaskKind::kUpdate), 0);
}

}  // namespace
}  // namespace elixir::schedule
