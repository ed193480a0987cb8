// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Streams, and what tasks wait for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

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

TEST(Check, FindsATaskOnTheWrongStream) {
  expect_found(TaskKind::kAccumulate,
               [](Schedule&, Task& task) { task.stream = Stream::kCompute; });
}

TEST(Check, FindsAWaitForALaterTask) {
  expect_found(TaskKind::kEvict, [](Schedule&, Task& task) { task.after.push_back(task.id + 1); });
}

TEST(Check, FindsSwappedNeighboursOfOneStream) {
  const Case c = offloaded();
  const Schedule schedule = lower_case(c);
  int swapped = 0;
  for (std::size_t i = 0; i + 1 < schedule.tasks.size(); ++i) {
    if (schedule.tasks[i].kind != TaskKind::kCompute ||
        schedule.tasks[i + 1].kind != TaskKind::kEvict) {
      continue;
    }
    Schedule broken = schedule;
    std::swap(broken.tasks[i], broken.tasks[i + 1]);
    std::swap(broken.tasks[i].id, broken.tasks[i + 1].id);
    for (Task& task : broken.tasks) {
      for (TaskId& before : task.after) {
        if (before == static_cast<TaskId>(i)) {
          before += 1;
        } else if (before == static_cast<TaskId>(i) + 1) {
          before -= 1;
        }
      }
    }
    EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << i;
    ++swapped;
  }
  EXPECT_GT(swapped, 0);
}

}  // namespace
}  // namespace elixir::schedule
