// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Operators, their storages, and chunks in blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/program_builder.h"
#include "program/lifetimes.h"
#include "schedule/check/cases.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::expect_found;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Check, FindsAShrunkBlock) {
  expect_found(TaskKind::kFetch, [](Schedule& schedule, const Task& task) {
    schedule.buffers[task.destination].bytes -= 256;
  });
}

TEST(Check, FindsAFetchIntoABlockInUse) {
  expect_found(TaskKind::kFetch, [](Schedule& schedule, Task& task) {
    for (const Task& other : schedule.tasks) {
      if (other.kind == TaskKind::kFetch && other.destination != task.destination) {
        task.destination = other.destination;
        return;
      }
    }
  });
}

TEST(Check, FindsAFetchOfAnotherChunk) {
  expect_found(TaskKind::kFetch, [](Schedule& schedule, Task& task) {
    task.chunk = (task.chunk + 1) % 3;
    task.source = schedule.tasks[task.id + 1].source;
  });
}

TEST(Check, FindsOperatorsThatRunTwice) {
  expect_found(TaskKind::kCompute,
               [](Schedule& schedule, Task& task) { schedule.tasks[task.id].last += 1; });
}

TEST(Check, FindsAStorageThatIsNeverReleased) {
  expect_found(TaskKind::kCompute, [](Schedule& schedule, Task&) {
    for (Task& task : schedule.tasks) {
      if (!task.releases.empty()) {
        task.releases.pop_back();
        return;
      }
    }
  });
}

TEST(Check, FindsAGradientReleasedBeforeItsCopy) {
  expect_found(TaskKind::kCompute, [](Schedule& schedule, Task&) {
    for (Task& task : schedule.tasks) {
      if (task.kind == TaskKind::kCompute && !task.releases.empty()) {
        task.after.clear();
        return;
      }
    }
  });
}

TEST(Check, FindsAForwardOnlyScheduleThatWritesABuffer) {
  fakes::ProgramBuilder builder;
  const fakes::TensorRef x = builder.input("x", {2, 4}, program::DType::kFloat32);
  const fakes::TensorRef mean = builder.buffer("running_mean", {4});
  builder.write("aten::lerp_", mean, {x});
  builder.set_loss(builder.call("aten::mean", {x}, {}));
  const program::Program program = builder.build();
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  EXPECT_THAT(check(lower(program, lifetimes, {}, {.training = true}), program, {}), IsEmpty());
  EXPECT_THAT(check(lower(program, lifetimes, {}, {.training = false}), program, {}),
              Not(IsEmpty()));
}

}  // namespace
}  // namespace elixir::schedule
