// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What several ranks share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "fakes/program_builder.h"
#include "schedule/check/cases.h"
#include "schedule/plans.h"
#include "schedule/schedule.h"

namespace elixir::schedule {
namespace {

using fakes::Case;
using fakes::LayoutOptions;
using fakes::lower_case;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Check, FindsTooLittleRoomForWhatRanksSend) {
  for (const plan::Reduce reduce : {plan::Reduce::kOrdered, plan::Reduce::kNccl}) {
    for (const int replicas : {1, 2}) {
      SCOPED_TRACE(testing::Message() << plan::kReduces.name_of(reduce) << ", " << replicas);
      Case c;
      c.program = fakes::mlp({64, 64, 64, 64}, 4);
      LayoutOptions options;
      options.blocks = 8;
      options.world = 4;
      options.replicas = replicas;
      options.reduced_by = reduce;
      c.plan = fakes::lay_out(c.program, options);
      Schedule schedule = lower_case(c);
      ASSERT_THAT(check(schedule, c.program, c.plan), IsEmpty());
      int found = 0;
      for (Buffer& buffer : schedule.buffers) {
        if (buffer.role != BufferRole::kExchange) continue;
        buffer.bytes -= 1;
        ++found;
      }
      EXPECT_EQ(found, 1);
      EXPECT_THAT(check(schedule, c.program, c.plan), Not(IsEmpty()));
    }
  }
}

/// Two ranks, two micro-batches, everything on the host.
Case direct_gradients(program::Program program, std::int64_t chunk_bytes) {
  Case c;
  c.program = std::move(program);
  LayoutOptions options{.chunk_bytes = chunk_bytes,
                        .parameters = plan::Home::kHost,
                        .gradients = plan::Home::kHost,
                        .optimizer = plan::Home::kHost};
  options.blocks = 8;
  options.world = 2;
  options.accumulation_steps = 2;
  c.plan = fakes::lay_out(c.program, options);
  return c;
}

TEST(Check, FindsGradientsThatAreMadeInTheWrongPlaceOrNotAtAll) {
  // A bias and a weight in each block.
  const Case c = direct_gradients(fakes::mlp({8, 8, 8, 8, 8}, 4), 600);
  const Schedule schedule = lower_case(c);
  ASSERT_THAT(check(schedule, c.program, c.plan), IsEmpty());
  const auto expect_found = [&](void (*change)(const Schedule&, Task&)) {
    int changed = 0;
    for (const Task& task : schedule.tasks) {
      if (task.direct.empty()) continue;
      Schedule broken = schedule;
      change(schedule, broken.tasks[task.id]);
      EXPECT_THAT(check(broken, c.program, c.plan), Not(IsEmpty())) << "task " << task.id;
      ++changed;
    }
    EXPECT_EQ(changed, 8);
  };
  expect_found([](const Schedule&, Task& task) { task.direct.clear(); });
  expect_found([](const Schedule&, Task& task) { task.direct.push_back(task.direct.front()); });
  expect_found([](const Schedule&, Task& task) { task.direct.front().block = -1; });
  expect_found([](const Schedule& schedule, Task& task) {
    const BufferId block = task.direct.front().block;
    for (const Buffer& buffer : schedule.buffers) {
      if (buffer.role != BufferRole::kGradientBlock || buffer.id == block) continue;
      task.direct.front().block = buffer.id;
    }
  });
}

TEST(Check, FindsAGradientThatItsOperatorCannotWriteElsewhere) {
  const Case c = direct_gradients(fakes::mlp({8, 8, 8, 8, 8}, 4), 600);
  const Schedule schedule = lower_case(c);
  int found = 0;
  for (std::size_t i = 0; i + 1 < schedule.tasks.size(); ++i) {
    // A bias, which comes before the weight.
    const Task& copy = schedule.tasks[i + 1];
    if (copy.kind != TaskKind::kStoreGradient) continue;
    ASSERT_EQ(schedule.tasks[i].kind, TaskKind::kCompute);
    Schedule broken = schedule;
    broken.tasks[i].direct.push_back({.parameter = copy.parameter, .block = copy.destination});
    broken.tasks[i + 1].kind = TaskKind::kEvict;  // nobody stores it twice
    const std::vector<std::string> problems = check(broken, c.program, c.plan);
    EXPECT_THAT(problems, testing::Contains(testing::HasSubstr("cannot write the gradient")));
    ++found;
  }
  EXPECT_EQ(found, 8);
}

/// Where nothing else implies the order.
TEST(Check, FindsABlockThatIsWrittenBeforeItsLastGradientsAreAddedUp) {
  const Case c = direct_gradients(fakes::products({8, 8, 8, 8, 8}, 4), 1);
  const Schedule schedule = lower_case(c);
  int waits = 0, found = 0;
  for (const Task& task : schedule.tasks) {
    if (task.direct.empty()) continue;
    Schedule broken = schedule;
    const auto removed = std::erase_if(broken.tasks[task.id].after, [&](TaskId other) {
      return schedule.tasks[other].kind == TaskKind::kReduce;
    });
    waits += static_cast<int>(removed);
    found += check(broken, c.program, c.plan).empty() ? 0 : 1;
  }
  EXPECT_EQ(waits, 8 - 3);
  EXPECT_EQ(found, 3);
}

}  // namespace
}  // namespace elixir::schedule
