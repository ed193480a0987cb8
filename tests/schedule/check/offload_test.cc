// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Activations that wait on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/check/cases.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using fakes::expect_found;
using fakes::lower_case;
using fakes::offloaded;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Check, FindsAnActivationThatLeavesBeforeItsRange) {
  const Case c = offloaded();
  const Schedule schedule = lower_case(c);
  int found = 0;
  for (const Task& offload : schedule.tasks) {
    if (offload.kind != TaskKind::kOffload) continue;
    // It waits for the range before instead, which may have written the activation.
    Schedule broken = schedule;
    for (TaskId& range : broken.tasks[offload.id].after) {
      if (schedule.tasks[range].stream != Stream::kCompute) continue;
      do {
        --range;
      } while (range > 0 && schedule.tasks[range].stream != Stream::kCompute);
    }
    EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << offload.id;
    ++found;
  }
  EXPECT_GT(found, 2);
}

TEST(Check, FindsAnActivationThatGoesToAnothersMemory) {
  expect_found(TaskKind::kOffload, [](Schedule& schedule, Task& task) {
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.role == BufferRole::kOffloaded && buffer.id != task.destination) {
        task.destination = buffer.id;
        return;
      }
    }
  });
}

TEST(Check, FindsAPartOfAnActivation) {
  expect_found(TaskKind::kOffload, [](Schedule&, Task& task) { task.bytes -= 4; });
  expect_found(TaskKind::kReload, [](Schedule&, Task& task) { task.bytes -= 4; });
}

TEST(Check, FindsAnActivationWithoutMemoryOnTheHost) {
  expect_found(TaskKind::kOffload, [](Schedule& schedule, const Task& task) {
    schedule.buffers[task.destination].bytes -= 4;
  });
}

}  // namespace
}  // namespace elixir::schedule
