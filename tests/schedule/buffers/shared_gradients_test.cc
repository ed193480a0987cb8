// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/shared_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/error.h"
#include "fakes/program_builder.h"
#include "schedule/buffers/buffers.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::LayoutOptions;
using plan::Home;

const std::vector<std::int64_t> kTenLayers(11, 64);

Schedule lowered(const program::Program& program, const plan::Plan& plan) {
  return lower(program, program::analyse_lifetimes(program), plan, {.clip_gradients = false});
}

/// How many gradients of chunks there are, and in how many buffers.
std::pair<std::size_t, std::size_t> gradients_and_buffers(const Schedule& schedule) {
  std::size_t gradients = 0;
  std::set<BufferId> memory;
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.role != BufferRole::kGradients || buffer.chunk < 0) continue;
    ++gradients;
    memory.insert(buffer.shares >= 0 ? buffer.shares : buffer.id);
  }
  return {gradients, memory.size()};
}

TEST(SharedGradients, AreFewHoweverManyChunksThereAre) {
  const program::Program program = fakes::mlp(kTenLayers, 4);
  for (const Home home : {Home::kDevice, Home::kHost}) {
    LayoutOptions options{.gradients = home, .optimizer = home};
    plan::Plan plan = fakes::lay_out(program, options);
    EXPECT_EQ(gradients_and_buffers(lowered(program, plan)), std::pair(20UL, 20UL));
    const std::int64_t own_bytes = buffer_bytes(
        lowered(program, plan).buffers, home == Home::kDevice ? Arena::kDevice : Arena::kHost);
    plan.clips_gradients = false;
    const Schedule schedule = lowered(program, plan);
    const auto [gradients, buffers] = gradients_and_buffers(schedule);
    EXPECT_EQ(gradients, 20U);
    EXPECT_LE(buffers, home == Home::kDevice ? 4U : 5U);
    EXPECT_LT(buffer_bytes(schedule.buffers, home == Home::kDevice ? Arena::kDevice : Arena::kHost),
              own_bytes);
  }
}

TEST(SharedGradients, AreAsLargeAsTheLargestChunkThatUsesThem) {
  const program::Program program = fakes::mlp({64, 8, 128, 16, 64}, 4);
  plan::Plan plan = fakes::lay_out(program, {});
  plan.clips_gradients = false;
  const Schedule schedule = lowered(program, plan);
  std::map<BufferId, std::int64_t> largest;
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.shares >= 0) largest[buffer.shares] = std::max(largest[buffer.shares], buffer.bytes);
  }
  ASSERT_FALSE(largest.empty());
  for (const auto& [shared, bytes] : largest) EXPECT_EQ(schedule.buffers[shared].bytes, bytes);
}

TEST(SharedGradients, WaitForTheUpdateOfTheChunkBefore) {
  const program::Program program = fakes::mlp(kTenLayers, 4);
  plan::Plan plan = fakes::lay_out(program, {.gradients = Home::kHost, .optimizer = Home::kHost});
  plan.clips_gradients = false;
  const Schedule schedule = lowered(program, plan);
  std::map<BufferId, TaskId> updated;  // by memory: the update of the chunk that had it last
  int waits = 0;
  for (const Task& task : schedule.tasks) {
    const BufferId memory = task.destination >= 0 ? schedule.buffers[task.destination].shares : -1;
    if (task.kind == TaskKind::kStoreGradient && memory >= 0 && updated.count(memory) != 0) {
      EXPECT_THAT(task.after, testing::Contains(updated.at(memory)));
      ++waits;
      updated.erase(memory);
    }
    if (task.kind == TaskKind::kUpdate) updated[schedule.buffers[task.source].shares] = task.id;
  }
  EXPECT_GE(waits, 10);
}

TEST(SharedGradients, AreNotThereWhereMicroBatchesAreAddedUp) {
  const program::Program program = fakes::mlp(kTenLayers, 4);
  plan::Plan plan = fakes::lay_out(program, {.accumulation_steps = 2});
  plan.clips_gradients = false;
  EXPECT_FALSE(shares_gradients(plan));
  EXPECT_EQ(gradients_and_buffers(lowered(program, plan)), std::pair(20UL, 20UL));
  plan.accumulation_steps = 1;
  EXPECT_TRUE(shares_gradients(plan));
}

TEST(SharedGradients, LeaveNoRoomForClipping) {
  const program::Program program = fakes::mlp(kTenLayers, 4);
  plan::Plan plan = fakes::lay_out(program, {});
  plan.clips_gradients = false;
  EXPECT_THROW(static_cast<void>(lower(
                   program, program::analyse_lifetimes(program), plan, {.clip_gradients = true})),
               Error);
}

}  // namespace
}  // namespace elixir::schedule
