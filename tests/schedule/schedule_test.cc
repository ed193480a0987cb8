// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace elixir::schedule {
namespace {

TEST(EndsThatMatter, AreThoseThatAnotherStreamOrTheHostMustKnow) {
  Schedule schedule;
  const auto add = [&](Stream stream, TaskKind kind, std::vector<TaskId> after) {
    Task& task = schedule.tasks.emplace_back();
    task.id = static_cast<TaskId>(schedule.tasks.size()) - 1;
    task.stream = stream;
    task.kind = kind;
    task.after = std::move(after);
  };
  add(Stream::kHostToDevice, TaskKind::kFetch, {});      // 0: compute waits
  add(Stream::kCompute, TaskKind::kCompute, {0});        // 1: only its own stream waits
  add(Stream::kCompute, TaskKind::kCompute, {1});        // 2: a copy waits
  add(Stream::kDeviceToHost, TaskKind::kReadLoss, {2});  // 3: the host waits
  add(Stream::kDeviceToHost, TaskKind::kOffload, {2});   // 4: the next step waits
  add(Stream::kDeviceToHost, TaskKind::kOffload, {2});   // 5: the last of its stream
  add(Stream::kHostToDevice, TaskKind::kFetch, {});      // 6: nobody waits
  add(Stream::kHostToDevice, TaskKind::kFetch, {});      // 7: the last of its stream
  add(Stream::kCompute, TaskKind::kCompute, {});         // 8: the last of its stream
  schedule.tasks[1].after_previous = {4};
  EXPECT_THAT(ends_that_matter(schedule),
              ::testing::ElementsAre(true, false, true, true, true, true, false, true, true));
  EXPECT_TRUE(ends_that_matter({}).empty());
}

}  // namespace
}  // namespace elixir::schedule
