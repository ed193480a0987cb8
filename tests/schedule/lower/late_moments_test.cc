// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Moments that a step leaves to the next one: when they are made, what waits for them, and what
// time they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fakes/program_builder.h"
#include "schedule/lower/lowered.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::lay_out;
using fakes::LayoutOptions;
using fakes::lower_plan;
using plan::Home;

/// The first `late` chunks make their moments late, and each second chunk is updated on the device.
plan::Plan plan_of(const program::Program& program, std::size_t late, int world = 1) {
  LayoutOptions options;
  options.world = world;
  options.parameters = options.gradients = options.optimizer = Home::kHost;
  options.blocks = 2;
  plan::Plan plan = lay_out(program, options);
  plan.cache.update_piece_elements = plan::kPieceUnitElements;
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    plan.chunks[c].late_moments = c < late;
    plan.chunks[c].streams_update = c % 2 == 1;
  }
  return plan;
}

class LateMoments : public testing::Test {
 protected:
  [[nodiscard]] const Task* find(TaskKind kind, std::int32_t chunk) const {
    const auto found =
        std::find_if(schedule_.tasks.begin(), schedule_.tasks.end(), [&](const Task& task) {
          return task.kind == kind && task.chunk == chunk;
        });
    return found == schedule_.tasks.end() ? nullptr : &*found;
  }

  const program::Program program_ = fakes::mlp({64, 64, 64, 64, 64}, 4);
  const plan::Plan plan_ = plan_of(program_, 3);
  const Schedule schedule_ = lower_plan(program_, plan_, {.clip_gradients = true});
};

TEST_F(LateMoments, AreMadeOnTheHostFromTheLastChunkToTheFirst) {
  std::vector<std::int32_t> chunks;
  for (const Task& task : schedule_.tasks) {
    if (task.kind != TaskKind::kUpdateMoments) continue;
    EXPECT_EQ(task.stream, Stream::kCpu);
    EXPECT_EQ(schedule_.buffers[task.source].role, BufferRole::kGradients);
    chunks.push_back(task.chunk);
  }
  EXPECT_EQ(chunks, (std::vector<std::int32_t>{2, 1, 0}));
  EXPECT_THAT(check(schedule_, program_, plan_), testing::IsEmpty());
}

TEST_F(LateMoments, AreTheFirstTasksAndEndBeforeTheFirstNewGradientOfTheirChunk) {
  const Task* compute = find(TaskKind::kCompute, -1);
  ASSERT_NE(compute, nullptr);
  for (const std::int32_t chunk : {0, 1, 2}) {
    const Task* moments = find(TaskKind::kUpdateMoments, chunk);
    const Task* store = find(TaskKind::kStoreGradient, chunk);
    ASSERT_TRUE(moments != nullptr && store != nullptr);
    EXPECT_LT(moments->id, compute->id);
    EXPECT_THAT(moments->after, testing::IsEmpty());
    EXPECT_THAT(store->after, testing::Contains(moments->id));
  }
}

TEST_F(LateMoments, OfStateThatGoesThroughTheDeviceComeBeforeTheNextPieces) {
  const Task* moments = find(TaskKind::kUpdateMoments, 1);
  const Task* load = find(TaskKind::kLoadState, 1);
  ASSERT_TRUE(moments != nullptr && load != nullptr);
  EXPECT_THAT(load->after, testing::Contains(moments->id));
  EXPECT_THAT(moments->after_previous, testing::Contains(find(TaskKind::kUpdate, 1)->id));
  EXPECT_LT(find(TaskKind::kStoreState, 1)->bytes, load->bytes) << "moments do not go back";
}

/// Forward waits for that load. Moments beside it would make it take longer.
TEST_F(LateMoments, WaitForTheLastLoadOfTheStepBefore) {
  const auto is_load = [](const Task& task) { return task.kind == TaskKind::kLoadState; };
  const auto last = std::find_if(schedule_.tasks.rbegin(), schedule_.tasks.rend(), is_load);
  ASSERT_NE(last, schedule_.tasks.rend());
  EXPECT_THAT(find(TaskKind::kUpdateMoments, 2)->after_previous, testing::Contains(last->id));

  plan::Plan on_cores = plan_;
  for (plan::Chunk& chunk : on_cores.chunks) chunk.streams_update = false;
  const Schedule without_loads = lower_plan(program_, on_cores, {.clip_gradients = true});
  for (const Task& task : without_loads.tasks) {
    if (task.kind != TaskKind::kUpdateMoments) continue;
    EXPECT_THAT(task.after_previous, testing::IsEmpty());
  }
}

/// Its gather ends once every rank has updated its shard. Moments of a rank that is done sooner
/// would take the memory from ranks for whom all wait.
TEST_F(LateMoments, OfSeveralRanksWaitForTheGatherOfTheLastUpdate) {
  const plan::Plan two_ranks = plan_of(program_, 3, 2);
  const Schedule schedule = lower_plan(program_, two_ranks, {.clip_gradients = true});
  EXPECT_THAT(check(schedule, program_, two_ranks), testing::IsEmpty());
  const auto first_of = [&](TaskKind kind) {
    return std::find_if(schedule.tasks.begin(), schedule.tasks.end(), [&](const Task& task) {
      return task.kind == kind;
    });
  };
  const auto moments = first_of(TaskKind::kUpdateMoments);
  ASSERT_NE(moments, schedule.tasks.end());
  std::vector<std::int32_t> gathered;
  for (const TaskId before : moments->after) {
    EXPECT_EQ(schedule.tasks[before].kind, TaskKind::kGather);
    gathered.push_back(schedule.tasks[before].chunk);
  }
  const auto last_update =
      std::find_if(schedule.tasks.rbegin(), schedule.tasks.rend(), [](const Task& task) {
        return task.kind == TaskKind::kUpdate && task.stream == Stream::kCpu;
      });
  ASSERT_NE(last_update, schedule.tasks.rend());
  EXPECT_THAT(gathered, testing::Contains(last_update->chunk));
  EXPECT_LT(moments->id, first_of(TaskKind::kStoreGradient)->id);
}

TEST_F(LateMoments, TouchEachByteOfAnUpdateThatTheFirstPassLeaves) {
  const Task* whole = find(TaskKind::kUpdate, 4);
  const Schedule all_late = lower_plan(program_, plan_of(program_, 5), {.clip_gradients = true});
  std::int64_t parameters = 0, moments = 0;
  for (const Task& task : all_late.tasks) {
    if (task.chunk != 4) continue;
    if (task.kind == TaskKind::kUpdate) parameters = task.bytes;
    if (task.kind == TaskKind::kUpdateMoments) moments = task.bytes;
  }
  const std::int64_t elements = plan::shard_elements(plan_, plan_.chunks[4]);
  // fp32: master and gradient are 4 bytes, each moment too.
  EXPECT_EQ(whole->bytes, elements * 28);
  EXPECT_EQ(parameters, elements * 20);
  EXPECT_EQ(moments, elements * 20);
}

TEST_F(LateMoments, HoldUpNoGradientsWhereThoseOfTwoStepsAreKept) {
  plan::Plan two = plan_;
  two.kept_gradients = 2;
  const Schedule schedule = lower_plan(program_, two, {.clip_gradients = true});
  EXPECT_THAT(check(schedule, program_, two), testing::IsEmpty());
  const auto moments_of = [](const Schedule& of, std::int32_t chunk) {
    return std::find_if(of.tasks.begin(), of.tasks.end(), [&](const Task& task) {
      return task.kind == TaskKind::kUpdateMoments && task.chunk == chunk;
    });
  };
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kStoreGradient || task.chunk > 2) continue;
    const TaskId moments = moments_of(schedule, task.chunk)->id;
    EXPECT_THAT(task.after, testing::Not(testing::Contains(moments)));
    EXPECT_EQ(schedule.buffers[task.destination].bytes,
              2 * schedule_.buffers[task.destination].bytes);
  }
  // In one place they would overwrite what moments are still made from.
  Schedule in_one_place = schedule;
  for (Buffer& buffer : in_one_place.buffers) {
    const bool late =
        buffer.role == BufferRole::kGradients && buffer.chunk >= 0 && buffer.chunk <= 2;
    if (late) buffer.bytes /= 2;
  }
  EXPECT_THAT(check(in_one_place, program_, plan_), testing::Not(testing::IsEmpty()));
}

TEST_F(LateMoments, OfTwoStepsTogetherTouchFewerBytesAStep) {
  plan::Plan three = plan_;
  three.kept_gradients = 3;
  const Schedule schedule = lower_plan(program_, three, {.clip_gradients = true});
  EXPECT_THAT(check(schedule, program_, three), testing::IsEmpty());
  const auto bytes_of = [&](TaskKind kind, std::int32_t chunk) {
    std::int64_t bytes = 0;
    for (const Task& task : schedule.tasks) {
      if (task.kind == kind && task.chunk == chunk) bytes += task.bytes;
    }
    return bytes;
  };
  const auto elements = [&](std::size_t chunk) {
    return plan::shard_elements(plan_, plan_.chunks[chunk]);
  };
  // fp32: the first pass reads a second gradient of 4 bytes in every second step, the second one
  // touches both moments and two gradients there.
  EXPECT_EQ(bytes_of(TaskKind::kUpdate, 0), elements(0) * 22);
  EXPECT_EQ(bytes_of(TaskKind::kUpdateMoments, 0), elements(0) * 12);
  // What goes through the device takes one step after another.
  EXPECT_EQ(bytes_of(TaskKind::kUpdateMoments, 1), elements(1) * 20);
  const std::vector<std::int64_t> kept = {3, 2, 3};
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.role != BufferRole::kGradients || buffer.chunk < 0 || buffer.chunk > 2) continue;
    const auto chunk = static_cast<std::size_t>(buffer.chunk);
    EXPECT_EQ(buffer.bytes, elements(chunk) * 4 * kept[chunk]);
  }
}

TEST_F(LateMoments, WaitForTheirTurnWhereMicroBatchesAreAddedUpOnTheHost) {
  plan::Plan two = plan_;
  two.kept_gradients = 2;
  two.accumulation_steps = 2;
  for (plan::Chunk& chunk : two.chunks) EXPECT_EQ(plan::kept_gradients(two, chunk), 1);
}

TEST_F(LateMoments, AreNotMadeLateWithoutANorm) {
  plan::Plan without = plan_;
  without.clips_gradients = false;
  for (plan::Chunk& chunk : without.chunks) chunk.late_moments = false;
  const Schedule schedule = lower_plan(program_, without);
  for (const Task& task : schedule.tasks) EXPECT_NE(task.kind, TaskKind::kUpdateMoments);
  // A schedule with them breaks the rules of such a plan.
  EXPECT_THAT(check(schedule_, program_, without), testing::Not(testing::IsEmpty()));
}

}  // namespace
}  // namespace elixir::schedule
