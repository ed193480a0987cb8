// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_events.h"

#include <gtest/gtest.h>

#include <set>

#include "fakes/program_builder.h"
#include "memory/step/timeline.h"

namespace elixir::memory {
namespace {

using program::DType;
using program::Program;

TrainingEvents events_of(const Program& program, int steps) {
  const operators::CudaTraits traits =
      operators::cuda_traits({.kind = program::Target::Kind::kCuda, .sm = 90});
  return training_events(
      program, program::Optimizer::kAdamW, operators::call_scripts(program, traits, {}), steps);
}

TEST(TrainingEvents, EveryAllocationIsFreedAtMostOnceAndAfterItBegan) {
  const TrainingEvents events = events_of(fakes::transformer({}), 3);
  std::set<std::int32_t> live, ended;
  for (const TrainingEvent& event : events.events) {
    if (event.frees) {
      EXPECT_EQ(live.erase(event.allocation), 1U);
      EXPECT_TRUE(ended.insert(event.allocation).second);
    } else {
      EXPECT_TRUE(live.insert(event.allocation).second);
    }
  }
  ASSERT_EQ(events.step_ends.size(), 3U);
  EXPECT_EQ(events.step_ends.back(), events.events.size());
}

TEST(TrainingEvents, StepsFromTheSecondOnAskForTheSame) {
  const TrainingEvents events = events_of(fakes::transformer({}), 4);
  const auto step = [&](std::size_t number) {
    std::vector<std::pair<bool, std::int64_t>> story;
    for (std::size_t i = events.step_ends[number - 1]; i < events.step_ends[number]; ++i) {
      const TrainingEvent& event = events.events[i];
      story.emplace_back(event.frees,
                         events.allocations[static_cast<std::size_t>(event.allocation)].bytes);
    }
    return story;
  };
  EXPECT_FALSE(step(2).empty());
  EXPECT_EQ(step(2), step(3));
}

TEST(TrainingEvents, BetweenStepsParametersStateInputsAndHandlesAreLeft) {
  const Program program = fakes::mlp({8, 16, 4}, 2, DType::kBFloat16);
  const TrainingEvents events = events_of(program, 2);
  std::set<std::int32_t> live;
  for (const TrainingEvent& event : events.events) {
    if (event.frees) {
      live.erase(event.allocation);
    } else {
      live.insert(event.allocation);
    }
  }
  std::int64_t state = 0, parameters = 0;
  for (const std::int32_t position : live) {
    const TrainingAllocation& allocation = events.allocations[static_cast<std::size_t>(position)];
    EXPECT_NE(allocation.category, program::Category::kGradient);
    if (allocation.category == program::Category::kOptimizerState) state += allocation.bytes;
    if (allocation.category == program::Category::kParameter) parameters += allocation.bytes;
  }
  // bf16 parameters: fp32 master and two moments.
  EXPECT_EQ(state, 6 * parameters);
  EXPECT_GT(parameters, 0);
}

TEST(TrainingEvents, MastersComeBeforeTheFirstStepAndMomentsAfterItsBackward) {
  const Program program = fakes::mlp({8, 16, 4}, 2, DType::kBFloat16);
  const TrainingEvents events = events_of(program, 1);
  const auto after = static_cast<program::OperatorId>(program.operators.size());
  int before = 0, later = 0;
  for (const TrainingAllocation& allocation : events.allocations) {
    if (allocation.category != program::Category::kOptimizerState) continue;
    if (allocation.step == 0) ++before;
    if (allocation.step == 1) {
      EXPECT_EQ(allocation.at, after);
      ++later;
    }
  }
  EXPECT_GT(before, 0);
  EXPECT_EQ(later, 2 * before);
}

}  // namespace
}  // namespace elixir::memory
