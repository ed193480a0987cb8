// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The trainer, apart from the bitwise law: the device budget is a hard limit, steps overlap, and
// what does not fit is refused.
#include "runtime/trainer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "replay/counting_allocator.h"
#include "runtime/trainer_internals.h"
#include "runtime/trainer_test_case.h"
#include "runtime/training.h"

namespace elixir::runtime {
namespace {

TEST_F(TrainerTest, TrainsAModelWhoseStateIsFourTimesTheBudget) {
  const TestModel deep(model_path("gpt2-deep"), 512, kCpu);
  const plan::Plan plan = deep.plan(kAllOnHost);
  const std::int64_t state_bytes = 16 * deep.program().parameter_count();
  ASSERT_GE(state_bytes, 4 * plan.budgets.gpu_memory_bytes);
  Trainer trainer(deep.captured(), plan, options_with(run_), deep.weights());
  double first = 0, last = 0;
  for (std::int64_t step = 1; step <= 8; ++step) {
    const StepReport report = trainer.step(deep.batch(1, 1), kLearningRate).report();
    EXPECT_LE(report.memory.peak_device_bytes, plan.budgets.gpu_memory_bytes);
    EXPECT_GT(report.traffic.evictions, 0);
    (step == 1 ? first : last) = report.loss;
  }
  EXPECT_LT(last, first - 0.5);
}

TEST_F(TrainerTest, RefusesAPlanThatNeedsOneByteMoreThanItsBudget) {
  plan::Plan plan = model_.plan(kAllOnHost);
  plan.budgets.gpu_memory_bytes = plan.predicted.peak_allocated_bytes - 1;
  EXPECT_EQ(code_of([&] { static_cast<void>(make(plan)); }), ErrorCode::kInconsistentPlan);
}

TEST_F(TrainerTest, StaticBuffersBeyondTheLimitAreRefusedBeforeTheFirstStep) {
  plan::Plan plan = model_.plan(kAllOnDevice);
  const std::int64_t before = replay::DeviceAccount::instance().charged_bytes();
  plan.predicted.peak_allocated_bytes = plan.budgets.gpu_memory_bytes = 1 << 20;  // a false plan
  EXPECT_EQ(code_of([&] { static_cast<void>(make(plan)); }), ErrorCode::kOutOfMemory);
  EXPECT_EQ(replay::DeviceAccount::instance().charged_bytes(), before);
}

TEST_F(TrainerTest, AStepMayStartBeforeTheLastOneHasEnded) {
  const plan::Plan plan = model_.plan(kAllOnHost);
  auto waits = make(plan);
  std::vector<StepReport> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(step(*waits));
  const auto weights = weights_of(*waits);
  waits.reset();  // the limit is that of the process
  const auto rolls = make(plan);
  std::vector<runtime::PendingStep> steps;
  for (std::int64_t i = 1; i <= 3; ++i) {
    steps.push_back(rolls->step(model_.batch(i, 1), kLearningRate));
    EXPECT_EQ(steps.back().number(), i);
    EXPECT_EQ(rolls->steps_done(), i - 1);
    EXPECT_EQ(steps.back().loss(), expected[static_cast<std::size_t>(i) - 1].loss);
  }
  // Whatever looks at weights waits for the last update.
  EXPECT_TRUE(weights_of(*rolls) == weights);
  EXPECT_EQ(rolls->steps_done(), 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(steps[i].report().loss, expected[i].loss);
}

TEST_F(TrainerTest, GivesBackItsDeviceMemory) {
  const std::int64_t before = replay::DeviceAccount::instance().charged_bytes();
  {
    const auto trainer = make(model_.plan(kAllOnDevice));
    step(*trainer);
    EXPECT_GT(replay::DeviceAccount::instance().charged_bytes(), before);
  }
  EXPECT_EQ(replay::DeviceAccount::instance().charged_bytes(), before);
}

TEST_F(TrainerTest, ClippingIsRefusedWithoutRoomForAllGradients) {
  Placement placement = kAllOnDevice;
  ASSERT_FALSE(placement.clips);
  run_.optimizer.clip_norm = 1.0;
  EXPECT_EQ(code_of([&] { static_cast<void>(make(model_.plan(placement))); }),
            ErrorCode::kConflictingFlags);
  placement.clips = true;
  step(*make(model_.plan(placement)));
}

TEST_F(TrainerTest, RefusesBatchesOfAnotherShapeAndGoesOn) {
  const auto trainer = make(model_.plan(kAllOnDevice));
  EXPECT_EQ(code_of([&] { trainer->step({}, kLearningRate).wait(); }), ErrorCode::kDataMismatch);
  EXPECT_EQ(code_of([&] { trainer->step({{}}, kLearningRate).wait(); }), ErrorCode::kDataMismatch);
  MicroBatches wide = model_.batch(1, 1);
  wide[0][0] = wide[0][0].repeat({2, 1});
  EXPECT_EQ(code_of([&] { trainer->step(wide, kLearningRate).wait(); }), ErrorCode::kDataMismatch);
  MicroBatches floats = model_.batch(1, 1);
  floats[0][0] = floats[0][0].to(c10::kFloat);
  EXPECT_EQ(code_of([&] { trainer->step(floats, kLearningRate).wait(); }),
            ErrorCode::kDataMismatch);
  EXPECT_EQ(trainer->steps_done(), 0);
  EXPECT_GT(step(*trainer).loss, 0.0);
}

TEST_F(TrainerTest, ARefusedBatchLeavesTheStepUnderWayAlone) {
  std::vector<double> losses;
  State state;
  {
    const auto untroubled = make(model_.plan(kAllOnHost));
    for (int i = 0; i < 2; ++i) losses.push_back(step(*untroubled).loss);
    state = state_of(*untroubled);
  }
  const auto trainer = make(model_.plan(kAllOnHost));
  for (const double expected : losses) {
    const std::int64_t done = trainer->steps_done();
    const PendingStep under_way =
        trainer->step(model_.batch(trainer->steps_done() + 1, 1), kLearningRate);
    EXPECT_EQ(code_of([&] { static_cast<void>(trainer->step({{}}, kLearningRate)); }),
              ErrorCode::kDataMismatch);
    EXPECT_EQ(under_way.report().loss, expected);
    EXPECT_EQ(trainer->steps_done(), done + 1);
  }
  expect_equal(state_of(*trainer), state);
}

TEST_F(TrainerTest, RefusesPlansForOtherProgramsMachinesAndOptimizers) {
  const plan::Plan good = model_.plan(kAllOnDevice);
  plan::Plan other = good;
  other.programs[0].fingerprint = std::string(64, '0');
  EXPECT_EQ(code_of([&] { static_cast<void>(make(other)); }), ErrorCode::kPlanOfAnotherProgram);
  other = good;
  other.hardware.device_kind = program::DeviceKind::kCuda;
  EXPECT_EQ(code_of([&] { static_cast<void>(make(other)); }), ErrorCode::kWrongMachineKind);
  Placement of_two = kAllOnDevice;
  of_two.world = 2;
  other = model_.plan(of_two);
  EXPECT_EQ(code_of([&] { static_cast<void>(make(other)); }), ErrorCode::kMissingFeature);
  other = good;
  other.optimizer = program::Optimizer::kSgd;
  EXPECT_EQ(code_of([&] { static_cast<void>(make(other)); }), ErrorCode::kInconsistentPlan);
}

TEST_F(TrainerTest, ReportsWhatItMeasured) {
  const TrainerOptions options = options_with(run_);
  const plan::Plan plan = model_.plan(kAllOnHost);
  Trainer trainer(model_.captured(), plan, options, model_.weights());
  const StepReport untimed = step(trainer);
  EXPECT_TRUE(untimed.tasks.empty());
  EXPECT_FALSE(untimed.busy_ns);
  EXPECT_GT(untimed.step_ns, 0);
  const StepReport report = step(trainer, {.time_tasks = true});
  EXPECT_EQ(report.tasks.size(), trainer.schedule().tasks.size());
  ASSERT_TRUE(report.busy_ns);
  double busy_ns = 0;
  for (const double stream_ns : *report.busy_ns) busy_ns += stream_ns;
  EXPECT_GT(busy_ns, 0.0);
  EXPECT_LE(busy_ns, report.step_ns);  // the CPU device runs one task at a time
  EXPECT_FALSE(report.gradient_norm.has_value());
}

}  // namespace
}  // namespace elixir::runtime
