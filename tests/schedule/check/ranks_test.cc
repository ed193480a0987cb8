// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What several ranks share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace elixir::schedule
