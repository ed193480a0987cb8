// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The trainer, apart from the bitwise law: the device budget is a hard limit, errors leave nothing
// behind, state can be moved to another placement, and evaluation changes nothing.
#include "runtime/trainer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "replay/counting_allocator.h"
#include "runtime/trainer_internals.h"
#include "runtime/training.h"
#include "schedule/buffers/lent_gradients.h"
#include "schedule/memory/evaluation.h"

namespace elixir::runtime {
namespace {

constexpr double kLearningRate = 1e-3;
constexpr program::Target kCpu{program::Target::Kind::kCpu, 0};

TrainerOptions options_with(const TrainingRun& run) {
  TrainerOptions options;
  options.optimizer = run.optimizer;
  options.seed = run.seed;
  options.cpu_threads = run.threads;
  options.poison_evicted = true;
  return options;
}

ErrorCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.info().code;
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

using State = std::map<std::pair<std::string, StatePart>, at::Tensor>;

State state_of(Trainer& trainer) {
  State state;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    for (const StatePart part :
         {StatePart::kParameter, StatePart::kMaster, StatePart::kMoment1, StatePart::kMoment2}) {
      state[{parameter.name, part}] = trainer.state(parameter.name, part);
    }
  }
  return state;
}

void expect_equal(const State& a, const State& b) {
  for (const auto& [key, tensor] : a) {
    EXPECT_TRUE(at::equal(tensor, b.at(key))) << key.first << " " << name_of(key.second);
  }
}

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() : model_(model_path("gpt2-tiny"), 512, kCpu) { at::set_num_threads(1); }

  [[nodiscard]] std::unique_ptr<Trainer> make(const plan::Plan& plan) const {
    return std::make_unique<Trainer>(model_.captured(), plan, options_with(run_), model_.weights());
  }
  StepReport step(Trainer& trainer, const StepOptions& options = {}) const {
    const std::int64_t next = trainer.steps_done() + 1;
    return trainer
        .step(model_.batch(next, trainer.plan().accumulation_steps), kLearningRate, options)
        .report();
  }

  TrainingRun run_;
  TestModel model_;
};

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

/// With late moments, the failed step may have made those of the step before, or not.
TEST_F(TrainerTest, AStepBeyondTheLimitFailsCleanlyAndTheNextOneWorks) {
  run_.optimizer.clip_norm = 1.0;  // updates come last, so a failed step has changed nothing
  for (Placement placement : {kAllOnHost, kLateMoments}) {
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

/// The next forward pass has written to the memory of gradients by the time that they are looked for.
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

TEST_F(TrainerTest, AGradientNormThatIsNotFiniteHoldsEveryUpdateBack) {
  Placement placement = kAllOnHost;
  placement.clips = true;
  run_.optimizer.clip_norm = 1.0;
  const auto trainer = make(model_.plan(placement));
  // The last norm's weight scales the logits. The loss stays finite, but its gradients do not.
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
    EXPECT_NE(error.info().message.find("step 1"), std::string::npos);
    EXPECT_NE(error.info().message.find("gradient"), std::string::npos);
  }
  EXPECT_TRUE(weights_of(*trainer) == before);
}

TEST_F(TrainerTest, EvaluationThatWritesBuffersWritesCopies) {
  const TestModel resnet(model_path("resnet-tiny"), 10, kCpu);
  capture::Options evaluation;
  evaluation.target = kCpu;
  evaluation.mode = program::Mode::kTrain;  // batch norms update their running statistics
  evaluation.backward = false;
  const capture::Captured captured =
      capture::capture(capture::Model::load(model_path("resnet-tiny")), evaluation);
  ASSERT_TRUE(captured.program.buffers.front().mutated);
  Trainer trainer(resnet.captured(), resnet.plan(kAllOnHost), options_with(run_), resnet.weights());
  std::map<std::string, at::Tensor> before;
  for (const program::Buffer& buffer : resnet.program().buffers) {
    before[buffer.name] = trainer.buffer(buffer.name);
  }
  const double loss = trainer.evaluate(captured, resnet.batch(2, 1)[0]);
  EXPECT_GT(loss, 0.0);
  EXPECT_EQ(trainer.evaluate(captured, resnet.batch(2, 1)[0]), loss);
  for (const auto& [name, value] : before) {
    EXPECT_TRUE(at::equal(value, trainer.buffer(name))) << name;
  }
}

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

TEST_F(TrainerTest, GivesBackItsDeviceMemory) {
  const std::int64_t before = replay::DeviceAccount::instance().charged_bytes();
  {
    const auto trainer = make(model_.plan(kAllOnDevice));
    step(*trainer);
    EXPECT_GT(replay::DeviceAccount::instance().charged_bytes(), before);
  }
  EXPECT_EQ(replay::DeviceAccount::instance().charged_bytes(), before);
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
  const auto trainer = make(plan_of(kLateMoments));
  for (int i = 0; i < 2; ++i) step(*trainer);
  expect_equal(state_of(*trainer), expected[1]);
  for (int i = 0; i < 2; ++i) step(*trainer);
  expect_equal(state_of(*trainer), expected[3]);
  // What is restored takes the place of moments that are still owed.
  step(*trainer);
  for (const auto& [key, tensor] : expected[0]) trainer->set_state(key.first, key.second, tensor);
  trainer->set_steps_done(1);
  step(*trainer);
  expect_equal(state_of(*trainer), expected[1]);
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

TEST_F(TrainerTest, ClippingIsRefusedWithoutRoomForAllGradients) {
  Placement placement = kAllOnDevice;
  ASSERT_FALSE(placement.clips);
  run_.optimizer.clip_norm = 1.0;
  EXPECT_EQ(code_of([&] { static_cast<void>(make(model_.plan(placement))); }),
            ErrorCode::kConflictingFlags);
  placement.clips = true;
  step(*make(model_.plan(placement)));
}

TEST_F(TrainerTest, EvaluationIsTheSameUnderEveryPlacementAndChangesNothing) {
  capture::Options evaluation;
  evaluation.target = kCpu;
  evaluation.mode = program::Mode::kEvaluate;
  evaluation.backward = false;
  const capture::Captured captured =
      capture::capture(capture::Model::load(model_path("gpt2-tiny")), evaluation);
  const std::vector<at::Tensor> inputs = model_.batch(100, 1)[0];
  const auto train = [&](const Placement& placement, bool evaluates, std::vector<double>& losses) {
    const auto trainer = make(model_.plan(placement));
    for (int i = 0; i < 3; ++i) {
      step(*trainer);
      if (!evaluates) continue;
      losses.push_back(trainer->evaluate(captured, inputs));
      EXPECT_EQ(trainer->evaluate(captured, inputs), losses.back());
    }
    return weights_of(*trainer);
  };
  std::vector<double> none, on_device, on_host;
  const auto alone = train(kAllOnDevice, /*evaluates=*/false, none);
  EXPECT_TRUE(train(kAllOnDevice, /*evaluates=*/true, on_device) == alone);
  EXPECT_TRUE(train(kAllOnHost, /*evaluates=*/true, on_host) == alone);
  EXPECT_EQ(on_device, on_host);
  EXPECT_NE(on_device.front(), on_device.back());
}

/// With the training's shapes, and with three times the rows, which need separate inputs.
TEST_F(TrainerTest, EvaluationTakesTheBytesThatAreCountedBeforehand) {
  for (const std::int64_t batch : {0, 12}) {
    capture::Options options;
    options.target = kCpu;
    options.mode = program::Mode::kEvaluate;
    options.backward = false;
    if (batch > 0) options.batch = batch;
    const TestModel evaluation(model_path("gpt2-tiny"), 512, options);
    for (const Placement& placement : {kAllOnDevice, kAllOnHost}) {
      plan::Plan plan = model_.plan(placement);
      const schedule::Schedule training = model_.lower(plan, false);
      const schedule::Schedule forward =
          schedule::lower(evaluation.program(), evaluation.lifetimes(), plan, {.training = false});
      const schedule::EvaluationMemory memory = schedule::evaluation_memory(
          training,
          forward,
          schedule::lend_buffers(training, model_.program(), forward, evaluation.program()),
          evaluation.simulate(plan, forward).device.bytes);
      EXPECT_EQ(memory.own_device_bytes > 0, batch > 0);
      const std::int64_t training_bytes =
          plan.predicted.peak_allocated_bytes + memory.own_device_bytes;
      plan.budgets.gpu_memory_bytes = std::max(training_bytes, memory.peak_device_bytes);

      const auto trainer = make(plan);
      trainer->prepare_evaluation(evaluation.captured());
      EXPECT_EQ(step(*trainer).memory.peak_device_bytes, training_bytes);
      const std::vector<at::Tensor> inputs = evaluation.batch(100, 1)[0];
      trainer->evaluate(evaluation.captured(), inputs);
      EXPECT_EQ(replay::DeviceAccount::instance().peak_bytes(), memory.peak_device_bytes);
      EXPECT_EQ(step(*trainer).memory.peak_device_bytes, training_bytes);

      TrainerInternals::set_device_limit(*trainer, memory.peak_device_bytes - 1);
      EXPECT_EQ(code_of([&] { trainer->evaluate(evaluation.captured(), inputs); }),
                ErrorCode::kOutOfMemory);
    }
  }
}

TEST_F(TrainerTest, EvaluationReadsRunningStatisticsAndLeavesThemAlone) {
  const TestModel resnet(model_path("resnet-tiny"), 10, kCpu);
  capture::Options evaluation;
  evaluation.target = kCpu;
  evaluation.mode = program::Mode::kEvaluate;
  evaluation.backward = false;
  const capture::Captured captured =
      capture::capture(capture::Model::load(model_path("resnet-tiny")), evaluation);
  Trainer trainer(resnet.captured(), resnet.plan(kAllOnHost), options_with(run_), resnet.weights());
  const auto buffers = [&] {
    std::map<std::string, at::Tensor> values;
    for (const program::Buffer& buffer : resnet.program().buffers) {
      values[buffer.name] = trainer.buffer(buffer.name);
    }
    return values;
  };
  const auto initial = buffers();
  trainer.step(resnet.batch(1, 1), kLearningRate).wait();
  const auto trained = buffers();
  EXPECT_GT(trainer.evaluate(captured, resnet.batch(2, 1)[0]), 0.0);
  const auto evaluated = buffers();
  ASSERT_FALSE(initial.empty());
  bool moved = false;
  for (const auto& [name, value] : trained) {
    moved = moved || !at::equal(value, initial.at(name));
    EXPECT_TRUE(at::equal(value, evaluated.at(name))) << name;
  }
  EXPECT_TRUE(moved) << "training updates running statistics";
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
  EXPECT_EQ(code_of([&] { static_cast<void>(make(other)); }), ErrorCode::kMissingFeature);
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
