// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/lent_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "edit/offload.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"
#include "schedule/buffers/buffers.h"
#include "schedule/check/cases.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using fakes::LayoutOptions;
using fakes::lower_case;
using plan::Home;
using ::testing::IsEmpty;
using ::testing::Not;

/// Ten layers whose activations are about as large as their gradients; all may wait elsewhere.
Case ten_layers(const LayoutOptions& options = {}) {
  Case c;
  c.program = fakes::mlp(std::vector<std::int64_t>(11, 64), 32);
  c.program = edit::offload(c.program, edit::offloadable(c.program), 0);
  c.plan = fakes::lay_out(c.program, options);
  c.lowering.clip_gradients = true;
  return c;
}

std::vector<Buffer> lent(const Schedule& schedule) {
  std::vector<Buffer> found;
  for (const Buffer& buffer : schedule.buffers) {
    if (buffer.role == BufferRole::kOffloaded && buffer.shares >= 0) found.push_back(buffer);
  }
  return found;
}

bool overlap(const Buffer& a, const Buffer& b) {
  return a.shares == b.shares && a.offset_bytes < b.offset_bytes + b.bytes &&
         b.offset_bytes < a.offset_bytes + a.bytes;
}

const Task& task_with(const Schedule& schedule, const std::function<bool(const Task&)>& is) {
  const auto found = std::find_if(schedule.tasks.begin(), schedule.tasks.end(), is);
  EXPECT_NE(found, schedule.tasks.end());
  return *found;
}

TEST(LentGradients, TakeActivationsThatAreBackBeforeTheyAreWritten) {
  const Case c = ten_layers();
  const Schedule schedule = lower_case(c);
  const std::vector<Buffer> waiting = lent(schedule);
  EXPECT_GE(waiting.size(), 5U);
  int meetings = 0;
  for (const Buffer& buffer : waiting) {
    EXPECT_EQ(buffer.arena, Arena::kDevice);
    const Task reload = task_with(schedule, [&](const Task& task) {
      return task.kind == TaskKind::kReload && task.source == buffer.id;
    });
    EXPECT_EQ(reload.stream, Stream::kCompute);
    for (const Buffer& other : schedule.buffers) {
      if (other.id == buffer.id || !overlap(buffer, other)) continue;
      ASSERT_EQ(other.role, BufferRole::kGradients) << "another activation is there";
      const Task store = task_with(schedule, [&](const Task& task) {
        return task.kind == TaskKind::kStoreGradient && task.destination == other.id;
      });
      EXPECT_LT(reload.id, store.id);
      ++meetings;
    }
  }
  EXPECT_GE(meetings, 5);
  EXPECT_EQ(lent_bytes(c.program, c.plan),
            std::accumulate(waiting.begin(),
                            waiting.end(),
                            std::int64_t{0},
                            [](std::int64_t sum, const Buffer& b) { return sum + b.bytes; }));
}

TEST(LentGradients, TakeNoMemoryAndNoLink) {
  Case c = ten_layers();
  const Schedule schedule = lower_case(c);
  Case plain = c;
  plain.program = fakes::mlp(std::vector<std::int64_t>(11, 64), 32);
  EXPECT_EQ(buffer_bytes(schedule.buffers, Arena::kDevice),
            buffer_bytes(lower_case(plain).buffers, Arena::kDevice));
  EXPECT_EQ(buffer_bytes(schedule.buffers, Arena::kHost) + lent_bytes(c.program, c.plan),
            edit::offloaded_bytes(c.program));
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kOffload && task.kind != TaskKind::kReload) continue;
    const BufferId waits_in = task.kind == TaskKind::kOffload ? task.destination : task.source;
    const bool on_device = schedule.buffers[waits_in].arena == Arena::kDevice;
    EXPECT_EQ(task.stream == Stream::kCompute, on_device);
  }
}

TEST(LentGradients, AreThoseThatHoldNothingWhileForwardRuns) {
  const auto lent_of = [](const LayoutOptions& options, bool clips) {
    Case c = ten_layers(options);
    c.plan.clips_gradients = c.lowering.clip_gradients = clips;
    EXPECT_THAT(check(lower_case(c), c.program, c.plan), IsEmpty());
    return lent(lower_case(c)).size();
  };
  EXPECT_GT(lent_of({}, true), 0U);
  EXPECT_GT(lent_of({.blocks = 8, .world = 2}, true), 0U);
  EXPECT_EQ(lent_of({.accumulation_steps = 2}, true), 0U) << "sums of micro-batches";
  EXPECT_EQ(lent_of({}, false), 0U) << "chunks take turns";
  EXPECT_EQ(lent_of({.gradients = Home::kHost, .optimizer = Home::kHost}, true), 0U);
  EXPECT_EQ(lent_of({.optimizer = Home::kHost}, true), 0U) << "they are still on their way";
}

/// What check() says of the schedule with `damage` done to its first lent buffer.
std::vector<std::string> found_after(const std::function<void(Schedule&, Buffer&)>& damage) {
  const Case c = ten_layers();
  Schedule schedule = lower_case(c);
  EXPECT_THAT(check(schedule, c.program, c.plan), IsEmpty());
  Buffer& buffer = schedule.buffers[lent(schedule).front().id];
  damage(schedule, buffer);
  return check(schedule, c.program, c.plan);
}

TEST(LentGradients, OfTheWrongChunkAreFound) {
  // The first activation of a forward pass comes back last: every gradient but those of its own
  // layer and below is written by then. The buffer's end has those that are written first.
  EXPECT_THAT(found_after([](const Schedule& schedule, Buffer& buffer) {
                buffer.offset_bytes = schedule.buffers[buffer.shares].bytes - buffer.bytes;
              }),
              Not(IsEmpty()));
  EXPECT_THAT(found_after([](const Schedule&, Buffer& buffer) { buffer.offset_bytes = -512; }),
              Not(IsEmpty()));
  EXPECT_THAT(found_after([](const Schedule&, Buffer& buffer) { buffer.bytes -= 4; }),
              Not(IsEmpty()));
  EXPECT_THAT(found_after([](const Schedule&, Buffer& buffer) { buffer.arena = Arena::kHost; }),
              Not(IsEmpty()));
}

TEST(LentGradients, ForTwoActivationsAtOnceAreFound) {
  EXPECT_THAT(found_after([](const Schedule& schedule, Buffer& buffer) {
                buffer.offset_bytes = lent(schedule).back().offset_bytes;
              }),
              Not(IsEmpty()));
}

TEST(LentGradients, CopiedOnALinkAreFound) {
  EXPECT_THAT(found_after([](Schedule& schedule, const Buffer& buffer) {
                for (Task& task : schedule.tasks) {
                  if (task.destination == buffer.id) task.stream = Stream::kDeviceToHost;
                }
              }),
              Not(IsEmpty()));
}

}  // namespace
}  // namespace elixir::schedule
