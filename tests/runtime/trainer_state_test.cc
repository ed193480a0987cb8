// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The state of a training: where it comes from, by which names it is found, and that it moves to
// another placement.
#include "runtime/trainer.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "runtime/trainer_test_case.h"
#include "runtime/training.h"

namespace elixir::runtime {
namespace {

TEST_F(TrainerTest, WhatTheSourceLeavesOutIsSetByTheCaller) {
  const plan::Plan plan = model_.plan(kAllOnHost);
  std::map<std::string, std::string> expected;
  {
    const auto whole = make(plan);
    step(*whole);
    expected = weights_of(*whole);
  }
  std::vector<std::string> parameters;
  for (const auto& each : model_.program().parameters) parameters.push_back(each.name);
  const TensorSource weights = model_.weights();
  const TensorSource buffers_alone = [&](const std::string& name) {
    const bool parameter =
        std::find(parameters.begin(), parameters.end(), name) != parameters.end();
    return parameter ? at::Tensor() : weights(name);
  };
  Trainer trainer(model_.captured(), plan, options_with(run_), buffers_alone);
  for (const std::string& name : parameters) {
    trainer.set_state(name, runtime::StatePart::kParameter, weights(name));
  }
  step(trainer);
  EXPECT_TRUE(weights_of(trainer) == expected);
}

TEST_F(TrainerTest, StateMovesToATrainerWithAnotherPlacement) {
  // One trainer at a time, because the device's account belongs to the process.
  std::map<std::string, std::string> expected;
  {
    const auto whole = make(model_.plan(kAllOnDevice));
    for (int i = 0; i < 4; ++i) step(*whole);
    expected = weights_of(*whole);
  }
  const std::vector<StatePart> parts{
      StatePart::kParameter, StatePart::kMaster, StatePart::kMoment1, StatePart::kMoment2};
  std::map<std::pair<std::string, StatePart>, at::Tensor> saved;
  {
    const auto first = make(model_.plan(kAllOnHost));
    for (int i = 0; i < 2; ++i) step(*first);
    for (const program::Parameter& parameter : model_.program().parameters) {
      for (const StatePart part : parts) {
        saved[{parameter.name, part}] = first->state(parameter.name, part);
      }
    }
  }
  const auto second = make(model_.plan(kOptimizerOnHost));
  for (const program::Parameter& parameter : model_.program().parameters) {
    for (const StatePart part : parts) {
      second->set_state(parameter.name, part, saved.at({parameter.name, part}));
    }
  }
  second->set_steps_done(2);
  for (int i = 0; i < 2; ++i) step(*second);
  EXPECT_EQ(second->steps_done(), 4);
  EXPECT_TRUE(weights_of(*second) == expected);
}

/// Masters in one piece, in two halves, and on both sides; moments in both widths.
TEST_F(TrainerTest, StateMovesToATrainerThatKeepsItInAnotherForm) {
  const TestModel half(model_path("gpt2-tiny-bf16"), 512, kCpu);
  run_.optimizer.beta2 = 0.95;
  const auto trainer_of = [&](const Placement& placement) {
    return std::make_unique<Trainer>(
        half.captured(), half.plan(placement), options_with(run_), half.weights());
  };
  const auto train = [&](Trainer& trainer, int steps) {
    for (int i = 0; i < steps; ++i) {
      trainer.step(half.batch(trainer.steps_done() + 1, 1), kLearningRate).wait();
      static_cast<void>(trainer.state(half.program().parameters.front().name, StatePart::kMaster));
    }
  };
  Placement whole = kAllOnHost;
  whole.master = plan::Master::kSeparate;
  for (const program::DType moments : {program::DType::kFloat32, program::DType::kBFloat16}) {
    whole.moments = moments;
    State saved, expected;
    {
      const auto first = trainer_of(whole);
      train(*first, 2);
      saved = state_of(*first);
      train(*first, 2);
      expected = state_of(*first);
    }
    EXPECT_EQ(saved.begin()->second.scalar_type(), c10::kBFloat16);
    EXPECT_EQ(
        (saved.at({half.program().parameters.front().name, StatePart::kMoment2}).scalar_type()),
        c10::kFloat);
    for (Placement other : {kAllOnHost, kAllOnDevice, kOptimizerOnHost, kStreamedUpdates}) {
      other.moments = moments;
      const auto second = trainer_of(other);
      for (const auto& [key, tensor] : saved) second->set_state(key.first, key.second, tensor);
      second->set_steps_done(2);
      expect_equal(state_of(*second), saved);
      train(*second, 2);
      expect_equal(state_of(*second), expected);
    }
  }
}

TEST_F(TrainerTest, LateMomentsAreThereWhenStateIsReadOrRestored) {
  run_.optimizer.clip_norm = 0.5;
  const auto plan_of = [&](Placement placement) {
    placement.clips = true;
    return model_.plan(placement);
  };
  std::vector<State> expected;
  {
    const auto trainer = make(plan_of(kAllOnHost));
    for (int i = 0; i < 4; ++i) {
      step(*trainer);
      expected.push_back(state_of(*trainer));
    }
  }
  // A plan with late moments trains without a norm, too.
  State without_norm[2];
  for (const bool late : {false, true}) {
    run_.optimizer.clip_norm = 0;
    const auto trainer = make(plan_of(late ? kLateMoments : kAllOnHost));
    step(*trainer);
    without_norm[late ? 1 : 0] = state_of(*trainer);
  }
  expect_equal(without_norm[1], without_norm[0]);
  run_.optimizer.clip_norm = 0.5;
  for (const Placement& placement : {kLateMoments, kKeptGradients, kMomentsTogether}) {
    const auto trainer = make(plan_of(placement));
    for (int i = 0; i < 2; ++i) step(*trainer);
    expect_equal(state_of(*trainer), expected[1]);
    step(*trainer);
    expect_equal(state_of(*trainer), expected[2]);
    step(*trainer);
    expect_equal(state_of(*trainer), expected[3]);
    // What is restored takes the place of moments that are still owed.
    step(*trainer);
    for (const auto& [key, tensor] : expected[0]) trainer->set_state(key.first, key.second, tensor);
    trainer->set_steps_done(1);
    step(*trainer);
    expect_equal(state_of(*trainer), expected[1]);
  }
}

TEST_F(TrainerTest, NarrowMomentsThatCouldNotDecayAreRefused) {
  Placement placement = kAllOnDevice;
  placement.moments = program::DType::kBFloat16;
  const plan::Plan plan = model_.plan(placement);
  run_.optimizer.beta2 = 0.999;
  EXPECT_EQ(code_of([&] { static_cast<void>(make(plan)); }), ErrorCode::kConflictingFlags);
  EXPECT_EQ(exit_code_of(ErrorCode::kConflictingFlags), 2);
  run_.optimizer.beta2 = 0.998;
  step(*make(plan));
}

TEST_F(TrainerTest, RefusesWeightsOfAnotherShape) {
  const plan::Plan plan = model_.plan(kAllOnDevice);
  const TensorSource transposed = [&](const std::string& name) {
    const at::Tensor value = model_.weights()(name);
    return value.dim() == 2 ? value.t() : value;
  };
  EXPECT_EQ(code_of([&] { Trainer(model_.captured(), plan, options_with(run_), transposed); }),
            ErrorCode::kWeightsMismatch);
}

TEST_F(TrainerTest, AParameterIsFoundByEachOfItsNames) {
  const auto trainer = make(model_.plan(kAllOnDevice));
  bool found_tie = false;
  for (const program::Parameter& parameter : model_.program().parameters) {
    found_tie = found_tie || parameter.names.size() > 1;
    for (const std::string& name : parameter.names) {
      EXPECT_TRUE(at::equal(trainer->state(name, runtime::StatePart::kParameter),
                            trainer->state(parameter.name, runtime::StatePart::kParameter)));
    }
  }
  EXPECT_TRUE(found_tie) << "GPT-2 ties its head to its embedding";
}

}  // namespace
}  // namespace elixir::runtime
