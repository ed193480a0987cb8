// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Steps that fail: which error they end with, what it names, and that nothing of them is left.
#include "runtime/trainer.h"

#include <ATen/ops/full_like.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "replay/counting_allocator.h"
#include "runtime/trainer_internals.h"
#include "runtime/trainer_test_case.h"
#include "schedule/buffers/lent_gradients.h"

namespace elixir::runtime {
namespace {

/// With late moments, the failed step may have made those of the step before, or not.
TEST_F(TrainerTest, AStepBeyondTheLimitFailsCleanlyAndTheNextOneWorks) {
  run_.optimizer.clip_norm = 1.0;  // updates come last, so a failed step has changed nothing
  for (Placement placement : {kAllOnHost, kLateMoments, kKeptGradients, kMomentsTogether}) {
    placement.clips = true;
    const plan::Plan plan = model_.plan(placement);
    std::vector<double> expected;
    std::map<std::string, std::string> weights;
    {
      const auto untroubled = make(plan);
      for (int i = 0; i < 3; ++i) expected.push_back(step(*untroubled).loss);
      weights = weights_of(*untroubled);
    }
    const auto troubled = make(plan);
    const std::int64_t statics = replay::DeviceAccount::instance().charged_bytes();
    const std::int64_t room = plan.predicted.peak_allocated_bytes;
    TrainerInternals::set_device_limit(*troubled, room);
    EXPECT_EQ(step(*troubled).loss, expected[0]);
    TrainerInternals::set_device_limit(*troubled, room - 1);
    try {
      step(*troubled);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kOutOfMemory);
      EXPECT_EQ(exit_code_of(error.info().code), 4);
      ASSERT_FALSE(error.info().notes.empty());
      EXPECT_NE(error.info().notes.front().find("aten::"), std::string::npos);
    }
    EXPECT_EQ(replay::DeviceAccount::instance().charged_bytes(), statics);
    EXPECT_EQ(troubled->steps_done(), 1);
    TrainerInternals::set_device_limit(*troubled, room);
    EXPECT_EQ(step(*troubled).loss, expected[1]);
    EXPECT_EQ(step(*troubled).loss, expected[2]);
    EXPECT_TRUE(weights_of(*troubled) == weights);
  }
}

TEST_F(TrainerTest, AFailureIsThrownByTheNextStepAndNamesItsOwn) {
  for (const bool clips : {false, true}) {
    Placement placement = kAllOnHost;
    placement.clips = clips;
    run_.optimizer.clip_norm = clips ? 1.0 : 0.0;
    const auto trainer = make(model_.plan(placement));
    const runtime::PendingStep first = trainer->step(model_.batch(1, 1), kLearningRate);
    const runtime::PendingStep bad = trainer->step(model_.batch(2, 1), 1e38);
    const std::string expected =
        "the update of `" + model_.program().parameters.front().name + "` in step 2 is not finite";
    const auto expect_failure = [&](const std::function<void()>& act) {
      try {
        act();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.info().code, ErrorCode::kNotFinite);
        EXPECT_EQ(error.info().message, expected);
      }
    };
    expect_failure([&] { (void)trainer->step(model_.batch(3, 1), kLearningRate); });
    expect_failure([&] { bad.wait(); });
    EXPECT_GT(first.report().loss, 0.0);
    EXPECT_EQ(trainer->steps_done(), 1);
  }
}

TEST_F(TrainerTest, NothingIsReadFromAStepThatFailed) {
  const auto trainer = make(model_.plan(kAllOnHost));
  const runtime::PendingStep bad = trainer->step(model_.batch(1, 1), 1e38);
  const std::string& name = model_.program().parameters.front().name;
  EXPECT_EQ(code_of([&] { (void)trainer->state(name, runtime::StatePart::kParameter); }),
            ErrorCode::kNotFinite);
  EXPECT_EQ(code_of([&] { bad.wait(); }), ErrorCode::kNotFinite);
  EXPECT_EQ(trainer->steps_done(), 0);
}

TEST_F(TrainerTest, AnUpdateThatIsNotFiniteFailsTheStepUnderEveryPlacement) {
  for (Placement placement : {kAllOnDevice, kOptimizerOnHost, kAllOnHost}) {
    for (const bool clips : {false, true}) {
      placement.clips = clips;
      run_.optimizer.clip_norm = clips ? 1.0 : 0.0;
      const auto trainer = make(model_.plan(placement));
      step(*trainer);
      try {
        trainer->step(model_.batch(2, 1), 1e38).wait();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.info().code, ErrorCode::kNotFinite);
        EXPECT_EQ(exit_code_of(error.info().code), 4);
        const std::string first = model_.program().parameters.front().name;
        EXPECT_EQ(error.info().message, "the update of `" + first + "` in step 2 is not finite");
      }
      EXPECT_EQ(trainer->steps_done(), 1);
    }
  }
}

/// The next forward pass has written to the memory of gradients by the time that they are looked
/// for.
TEST_F(TrainerTest, AGradientWhoseMemoryIsLentIsNamedAllTheSame) {
  Placement placement = kAllOnDevice;
  placement.clips = true;
  run_.optimizer.clip_norm = 1.0;
  model_.offload(1, 0);
  const plan::Plan plan = model_.plan(placement);
  ASSERT_GT(schedule::lent_bytes(model_.program(), plan), 0);
  const auto trainer = make(plan);
  const std::string name = model_.program().parameters.back().name;
  const at::Tensor weight = trainer->state(name, runtime::StatePart::kParameter);
  trainer->set_state(name, runtime::StatePart::kParameter, at::full_like(weight, 1e30));
  const runtime::PendingStep bad = trainer->step(model_.batch(1, 1), kLearningRate);
  const auto expect_named = [](const std::function<void()>& act) {
    try {
      act();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kNotFinite);
      EXPECT_THAT(error.info().message, testing::StartsWith("the gradient of `"));
      EXPECT_THAT(error.info().message, testing::HasSubstr("in step 1 is not finite"));
    }
  };
  expect_named([&] { (void)trainer->step(model_.batch(2, 1), kLearningRate); });
  expect_named([&] { bad.wait(); });
}

TEST_F(TrainerTest, AGradientNormThatIsNotFiniteHoldsEveryUpdateBackAndNamesTheLargest) {
  run_.optimizer.clip_norm = 1.0;
  for (Placement placement : {kAllOnHost, kLateMoments, kKeptGradients, kMomentsTogether}) {
    placement.clips = true;
    // Gradients of several steps that are kept take turns in memory.
    for (const int good_steps : {0, 1, 2}) {
      const auto trainer = make(model_.plan(placement));
      for (int i = 0; i < good_steps; ++i) step(*trainer);
      // The last norm's weight scales the logits. The loss stays finite, but the squares of its
      // gradients do not.
      std::string name;
      for (const program::Parameter& parameter : model_.program().parameters) {
        if (parameter.name.find("ln_f.weight") != std::string::npos) name = parameter.name;
      }
      const at::Tensor weight = trainer->state(name, runtime::StatePart::kParameter);
      trainer->set_state(name, runtime::StatePart::kParameter, at::full_like(weight, 1e30));
      const auto before = weights_of(*trainer);
      try {
        step(*trainer);
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.info().code, ErrorCode::kNotFinite);
        const std::string& message = error.info().message;
        EXPECT_NE(message.find(fmt::format("step {} is not finite", good_steps + 1)),
                  std::string::npos)
            << message;
        // Of this step: gradients of the steps before were small.
        EXPECT_THAT(error.info().notes, testing::Contains(testing::HasSubstr("reaches")));
        EXPECT_THAT(error.info().notes, testing::Contains(testing::HasSubstr("e+")));
      }
      EXPECT_TRUE(weights_of(*trainer) == before);
    }
  }
}

}  // namespace
}  // namespace elixir::runtime
