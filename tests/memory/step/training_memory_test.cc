// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/units.h"
#include "fakes/program_builder.h"
#include "memory/allocator/rounding.h"

namespace elixir::memory {
namespace {

/// Builds events by hand. The name of an allocation is its position.
class Story {
 public:
  std::int32_t get(std::int64_t bytes) {
    events_.allocations.push_back(
        {.bytes = bytes, .step = static_cast<int>(events_.step_ends.size()) + 1});
    const auto position = static_cast<std::int32_t>(events_.allocations.size()) - 1;
    events_.events.push_back({false, position, call_++});
    return position;
  }
  void free(std::int32_t allocation) { events_.events.push_back({true, allocation, call_}); }
  void end_step() {
    events_.step_ends.push_back(events_.events.size());
    call_ = 0;
  }
  [[nodiscard]] const TrainingEvents& events() const { return events_; }

 private:
  TrainingEvents events_;
  program::OperatorId call_ = 0;
};

/// A parameter of 40 MiB, and steps with an activation of 60 MiB and a temporary of 20 MiB.
Story two_steps() {
  Story story;
  story.get(40_MiB);
  for (int step = 0; step < 2; ++step) {
    const auto activation = story.get(60_MiB);
    const auto temporary = story.get(20_MiB);
    story.free(temporary);
    story.free(activation);
    story.end_step();
  }
  return story;
}

TEST(SimulateTraining, TellsPeaksOfEachStep) {
  const Story story = two_steps();
  const TrainingMemory memory = simulate_training(story.events(), {}, unlimited_device());
  EXPECT_EQ(memory.peak_allocated_bytes, 120_MiB);
  EXPECT_EQ(memory.peak_reserved_bytes, 120_MiB);
  ASSERT_EQ(memory.steps.size(), 2U);
  EXPECT_EQ(memory.steps[0].device_calls, 3);
  EXPECT_EQ(memory.steps[0].allocated_bytes, 40_MiB);
  EXPECT_EQ(memory.steps[1].peak_allocated_bytes, 120_MiB);
  EXPECT_EQ(memory.steps[1].reserved_bytes, 120_MiB);
  EXPECT_EQ(memory.steps[1].device_calls, 0);
  EXPECT_TRUE(memory.settled);
  EXPECT_FALSE(memory.shortage.has_value());
  EXPECT_EQ(memory.segments.size(), 3U);
}

TEST(SimulateTraining, RepeatsTheLastStepUntilNothingChanges) {
  // The second step splits the block that the first one left, and needs another segment.
  Story story;
  story.get(4_MiB);
  const auto first = story.get(30_MiB);
  story.free(first);
  story.end_step();
  const auto small = story.get(17_MiB);  // takes the low end of the 30 MiB
  const auto large = story.get(30_MiB);
  story.free(small);
  story.free(large);
  story.end_step();
  const TrainingMemory memory = simulate_training(story.events(), {}, unlimited_device());
  ASSERT_EQ(memory.steps.size(), 3U);
  EXPECT_EQ(memory.steps[1].device_calls, 1);
  EXPECT_EQ(memory.steps[2].device_calls, 0);
  EXPECT_TRUE(memory.settled);
}

TEST(SimulateTraining, EndsWithAnUnsettledAllocatorAfterFiveSteps) {
  // The second may not use the cached block of the first, and there is room for only one of them.
  Story story;
  story.end_step();
  const auto a = story.get(60_MiB);
  story.free(a);
  const auto b = story.get(30_MiB);
  story.free(b);
  story.end_step();
  DeviceLimits limits = unlimited_device();
  limits.allowed_bytes = 70_MiB;
  const TrainingMemory memory =
      simulate_training(story.events(), AllocatorConfig::parse("max_split_size_mb:40"), limits);
  EXPECT_EQ(memory.steps.size(), 5U);
  EXPECT_FALSE(memory.settled);
  EXPECT_EQ(memory.peak_reserved_bytes, 60_MiB);
  EXPECT_EQ(memory.steps.back().device_calls, 4);
}

TEST(SimulateTraining, OneStepIsNotRepeated) {
  Story story;
  story.get(1);
  story.end_step();
  const TrainingMemory memory = simulate_training(story.events(), {}, unlimited_device());
  EXPECT_EQ(memory.steps.size(), 1U);
  EXPECT_FALSE(memory.settled);
}

TEST(SimulateTraining, SaysWhereMemoryEnds) {
  const Story story = two_steps();
  DeviceLimits limits = unlimited_device();
  limits.allowed_bytes = 110_MiB;
  const TrainingMemory memory = simulate_training(story.events(), {}, limits);
  ASSERT_TRUE(memory.shortage.has_value());
  EXPECT_EQ(memory.shortage->step, 1);
  EXPECT_EQ(memory.shortage->at, 2);
  EXPECT_EQ(memory.shortage->answer.requested_bytes, 20_MiB);
  EXPECT_EQ(memory.shortage->answer.reserved_bytes, 100_MiB);
  EXPECT_EQ(memory.peak_reserved_bytes, 100_MiB);
  EXPECT_TRUE(memory.steps.empty());
  limits.allowed_bytes = 120_MiB;
  EXPECT_FALSE(simulate_training(story.events(), {}, limits).shortage.has_value());
}

TEST(SimulateTraining, AShortageOfALaterStepIsTold) {
  Story story;
  story.end_step();
  story.get(10_MiB);  // never freed: a leak that grows with each repetition
  story.end_step();
  DeviceLimits limits = unlimited_device();
  limits.allowed_bytes = 35_MiB;
  const TrainingMemory memory = simulate_training(story.events(), {}, limits);
  ASSERT_TRUE(memory.shortage.has_value());
  EXPECT_EQ(memory.shortage->step, 5);
}

TEST(SimulateTraining, FollowsTheConfiguration) {
  Story story;
  for (int i = 0; i < 4; ++i) story.get(11_MiB);
  story.end_step();
  const auto reserved = [&](const char* config) {
    return simulate_training(story.events(), AllocatorConfig::parse(config), unlimited_device())
        .peak_reserved_bytes;
  };
  EXPECT_EQ(reserved(""), 48_MiB);
  EXPECT_EQ(reserved("expandable_segments:True"), 60_MiB);
  EXPECT_EQ(reserved("roundup_power2_divisions:2"), 48_MiB);
  EXPECT_EQ(reserved("roundup_power2_divisions:[4:1,8:1,16:1,>:1]"), 48_MiB);
}

/// Sums of rounded requests. They equal `allocated` if no block is larger than its request.
TEST(SimulateTraining, AllocatedIsTheSumOfBlocksOfRealPrograms) {
  for (const program::DType dtype : {program::DType::kFloat32, program::DType::kBFloat16}) {
    fakes::TransformerOptions options;
    options.dtype = dtype;
    options.layers = 4;
    program::Program program = fakes::transformer(options);
    program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
    const auto scripts =
        operators::call_scripts(program, operators::cuda_traits(program.target), {});
    const TrainingEvents events = training_events(program, program::Optimizer::kAdamW, scripts, 3);
    std::int64_t live = 0;
    std::int64_t peak = 0;
    for (const TrainingEvent& event : events.events) {
      const auto& allocation = events.allocations[static_cast<std::size_t>(event.allocation)];
      const std::int64_t bytes = block_bytes(allocation.bytes, {});
      live += event.frees ? -bytes : bytes;
      peak = std::max(peak, live);
    }
    const TrainingMemory memory = simulate_training(
        events, AllocatorConfig::parse("expandable_segments:True"), unlimited_device());
    EXPECT_EQ(memory.peak_allocated_bytes, peak);
    EXPECT_GE(memory.peak_reserved_bytes, peak);
    EXPECT_TRUE(memory.settled);
    EXPECT_EQ(memory.steps.back().peak_allocated_bytes, memory.steps[1].peak_allocated_bytes);
  }
}

TEST(SimulateTraining, ALimitAtThePredictedPeakIsEnough) {
  fakes::TransformerOptions options;
  options.layers = 3;
  options.hidden = 512;
  options.tokens = 256;
  program::Program program = fakes::transformer(options);
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  const auto predict = [&](const DeviceLimits& limits) {
    return predict_training(program, program::Optimizer::kAdamW, {}, {}, limits);
  };
  const TrainingMemory free = predict(unlimited_device());
  DeviceLimits limits = unlimited_device();
  limits.allowed_bytes = free.peak_reserved_bytes;
  const TrainingMemory limited = predict(limits);
  EXPECT_FALSE(limited.shortage.has_value());
  EXPECT_EQ(limited.peak_reserved_bytes, free.peak_reserved_bytes);
  limits.allowed_bytes = free.peak_allocated_bytes - 1_MiB;
  EXPECT_TRUE(predict(limits).shortage.has_value());
}

}  // namespace
}  // namespace elixir::memory
