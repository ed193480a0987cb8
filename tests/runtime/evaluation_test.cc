// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Evaluation between steps: the same under every placement, in the memory that was counted
// beforehand, and without a trace.
#include "runtime/trainer.h"

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/error.h"
#include "replay/counting_allocator.h"
#include "runtime/trainer_internals.h"
#include "runtime/trainer_test_case.h"
#include "runtime/training.h"
#include "schedule/memory/evaluation.h"

namespace elixir::runtime {
namespace {

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

}  // namespace
}  // namespace elixir::runtime
