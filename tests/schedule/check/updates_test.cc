// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Gradients on their way to their home, and updates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fakes/program_builder.h"
#include "schedule/check/cases.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using fakes::expect_found;
using fakes::lower_case;
using fakes::offloaded;
using plan::Home;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Check, FindsAStoreIntoTheWrongBuffer) {
  expect_found(TaskKind::kStoreGradient, [](Schedule&, Task& task) { task.destination -= 1; });
}

TEST(Check, FindsAGradientThatLandsOnAnother) {
  expect_found(TaskKind::kStoreGradient, [](Schedule& schedule, Task& first) {
    for (Task& task : schedule.tasks) {
      if (task.kind == TaskKind::kStoreGradient && task.destination != first.destination) {
        task.destination = first.destination;
        return;
      }
    }
  });
}

TEST(Check, FindsAGradientAddedUpFromWhereAnotherLanded) {
  expect_found(TaskKind::kAccumulate, [](Schedule& schedule, Task& task) {
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kGradientLanding && buffer.id != task.source) {
        task.source = buffer.id;
        return;
      }
    }
  });
}

TEST(Check, FindsLandingBuffersWithoutRoom) {
  expect_found(TaskKind::kStoreGradient, [](Schedule& schedule, const Task&) {
    for (Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kGradientLanding) buffer.bytes -= 256;
    }
  });
}

/// In the same step and from the step before.
TEST(Check, FindsALandingBufferThatIsFilledBeforeItIsRead) {
  const Case c = offloaded();
  const Schedule schedule = lower_case(c);
  int found = 0, between_steps = 0;
  for (const Task& task : schedule.tasks) {
    if (task.kind != TaskKind::kStoreGradient) continue;
    const auto is_sum = [&](TaskId other) {
      return schedule.tasks[other].kind == TaskKind::kAccumulate;
    };
    Schedule broken = schedule;
    found += std::erase_if(broken.tasks[task.id].after, is_sum) > 0 ? 1 : 0;
    between_steps += std::erase_if(broken.tasks[task.id].after_previous, is_sum) > 0 ? 1 : 0;
    if (broken.tasks[task.id].after == task.after) continue;
    EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << task.id;
  }
  EXPECT_GT(found, 4);
  EXPECT_GT(between_steps, 1);
}

TEST(Check, FindsGradientsThatCannotShareMemory) {
  Case c;
  c.program = fakes::mlp({64, 64, 64, 64, 64, 64}, 4);
  c.plan = fakes::lay_out(c.program, {.gradients = Home::kHost, .optimizer = Home::kHost});
  c.plan.clips_gradients = false;
  const Schedule schedule = lower_case(c);
  ASSERT_THAT(check(schedule, c.program, c.plan), IsEmpty());
  const auto shares = [](const Buffer& buffer) { return buffer.shares >= 0; };
  const auto found = std::find_if(schedule.buffers.begin(), schedule.buffers.end(), shares);
  ASSERT_NE(found, schedule.buffers.end());
  const BufferId shared = found->shares;
  const auto broken = [&](auto&& change) {
    Schedule other = schedule;
    change(other.buffers);
    return check(other, c.program, c.plan);
  };
  EXPECT_THAT(broken([&](auto& buffers) { --buffers[shared].bytes; }), Not(IsEmpty()));
  EXPECT_THAT(broken([&](auto& buffers) { buffers[shared].arena = Arena::kDevice; }),
              Not(IsEmpty()));
  EXPECT_THAT(broken([&](auto& buffers) { buffers[shared].chunk = 0; }), Not(IsEmpty()));
  EXPECT_THAT(broken([&](auto& buffers) { buffers[found->id].shares = 1 << 20; }), Not(IsEmpty()));
  // All chunks in one buffer: the next one's gradients come before the update has read these.
  EXPECT_THAT(broken([&](auto& buffers) {
                for (Buffer& buffer : buffers) {
                  if (shares(buffer)) buffer.shares = shared;
                }
              }),
              Not(IsEmpty()));
  plan::Plan clips = c.plan;
  clips.clips_gradients = true;
  EXPECT_THAT(check(schedule, c.program, clips), Not(IsEmpty()));
}

TEST(Check, FindsAnUpdateFromTheWrongPlace) {
  expect_found(TaskKind::kUpdate, [](Schedule&, Task& task) { task.source -= 1; });
}

TEST(Check, FindsAChunkWithoutMoments) {
  expect_found(TaskKind::kUpdate, [](Schedule& schedule, Task&) {
    for (Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kMoment2) buffer.bytes = 0;
    }
  });
}

TEST(Check, FindsAForwardOnlyScheduleThatUpdates) {
  expect_found(TaskKind::kUpdate, [](Schedule& schedule, Task&) { schedule.training = false; });
}

}  // namespace
}  // namespace elixir::schedule
