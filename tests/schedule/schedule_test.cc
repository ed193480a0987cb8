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
  add(Stream::kHostToDevice, TaskKind::kFetch, {});       // 0: compute waits
  add(Stream::kCompute, TaskKind::kCompute, {0});         // 1: only its own stream waits
  add(Stream::kCompute, TaskKind::kCompute, {1});         // 2: a copy waits
  add(Stream::kDeviceToHost, TaskKind::kReadLoss, {2});   // 3: the host waits
  add(Stream::kDeviceToHost, TaskKind::kOffload, {2});    // 4: the next step waits
  add(Stream::kDeviceToHost, TaskKind::kOffload, {2});    // 5: the last of its stream
  add(Stream::kHostToDevice, TaskKind::kFetch, {});       // 6: nobody waits
  add(Stream::kHostToDevice, TaskKind::kFetch, {});       // 7: likewise
  add(Stream::kCompute, TaskKind::kCompute, {});          // 8: the last of its stream
  add(Stream::kHostToDevice, TaskKind::kFetch, {});       // 9: a load of state waits
  add(Stream::kDeviceUpdate, TaskKind::kLoadState, {9});  // 10: the last of its stream
  add(Stream::kHostToDevice, TaskKind::kFetch, {});       // 11: likewise
  schedule.tasks[1].after_previous = {4};
  constexpr auto kNobody = Awaited::kByNobody, kStreams = Awaited::kByStreams,
                 kHost = Awaited::kByHost;
  EXPECT_THAT(awaited_ends(schedule),
              ::testing::ElementsAre(kStreams,
                                     kNobody,
                                     kStreams,
                                     kHost,
                                     kStreams,
                                     kHost,
                                     kNobody,
                                     kNobody,
                                     kHost,
                                     kHost,
                                     kHost,
                                     kHost));
  EXPECT_TRUE(awaited_ends({}).empty());
}

}  // namespace
}  // namespace elixir::schedule
