// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the checker's tests check: a program, a plan and the schedule that they lead to. Tests break
// the schedule and expect check() to find a problem.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "plan/plan.h"
#include "program/program.h"
#include "schedule/schedule.h"

namespace elixir::fakes {

struct Case {
  program::Program program;
  plan::Plan plan;
  schedule::LoweringOptions lowering;
};
[[nodiscard]] schedule::Schedule lower_case(const Case& c);

/// Any homes, windows and number of micro-batches, with or without clipping, chunk by chunk; any
/// activations on the host. The same seed gives the same case.
[[nodiscard]] Case random_case(std::uint64_t seed);

/// Two micro-batches with everything on the host: parameters, gradients, optimizer state and
/// activations.
[[nodiscard]] Case offloaded();

/// Changes the first task of a kind in the schedule of offloaded() and expects problems.
template <class Change>
void expect_found(schedule::TaskKind kind, Change change) {
  const Case c = offloaded();
  schedule::Schedule schedule = lower_case(c);
  ASSERT_THAT(check(schedule, c.program, c.plan), testing::IsEmpty());
  for (schedule::Task& task : schedule.tasks) {
    if (task.kind != kind) continue;
    change(schedule, task);
    EXPECT_THAT(check(schedule, c.program, c.plan), testing::Not(testing::IsEmpty()));
    return;
  }
  FAIL() << "no task of that kind";
}

}  // namespace elixir::fakes
