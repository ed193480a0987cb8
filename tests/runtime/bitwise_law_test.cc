// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Placement never changes the numbers: ten steps under every placement give the losses and weights
// of plain eager LibTorch, bit for bit, and each placement really moves the data it should.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ATen/Parallel.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "edit/offload.h"
#include "operators/own.h"
#include "runtime/trainer_internals.h"
#include "runtime/training.h"
#include "schedule/buffers/lent_gradients.h"

namespace elixir::runtime {
namespace {

struct Case {
  std::string model;
  std::int64_t integer_range;
  int threads;
};

/// The float that bits_of() wrote.
float float_of(const std::string& bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(bits, nullptr, 16)));
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.model;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name + "_threads_" + std::to_string(info.param.threads);
}

class BitwiseLaw : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    run_.threads = GetParam().threads;
    threads_before_ = at::get_num_threads();
    at::set_num_threads(run_.threads);
    model_ = load();
  }
  void TearDown() override { at::set_num_threads(threads_before_); }

  static std::unique_ptr<TestModel> load() {
    return std::make_unique<TestModel>(model_path(GetParam().model),
                                       GetParam().integer_range,
                                       program::Target{program::Target::Kind::kCpu, 0});
  }

  [[nodiscard]] TrainerOptions options() const {
    TrainerOptions options;
    options.optimizer = run_.optimizer;
    options.seed = run_.seed;
    options.cpu_threads = run_.threads;
    options.poison_evicted = true;
    return options;
  }

  /// Trains under `placement`, each step started before the last one has ended. Every step must use
  /// exactly the memory and move exactly the bytes predicted.
  Outcome train(const Placement& placement, const CpuOrder& order = {}) {
    const plan::Plan plan = model_->plan(placement);
    predicted_ = plan.predicted;
    TrainerOptions options = this->options();
    options.cpu_order = order;
    Trainer trainer(model_->captured(), plan, options, model_->weights());
    Outcome outcome;
    std::optional<PendingStep> before;
    const auto finish = [&] {
      if (before) expect_predicted(before->report(), outcome);
    };
    for (std::int64_t step = 1; step <= run_.steps; ++step) {
      PendingStep next =
          trainer.step(model_->batch(step, placement.accumulation_steps), run_.learning_rate);
      finish();
      before = std::move(next);
    }
    finish();
    outcome.weights = weights_of(trainer);
    return outcome;
  }

  void expect_predicted(const StepReport& report, Outcome& outcome) const {
    for (const float loss : report.micro_losses) outcome.losses.push_back(bits_of(loss));
    EXPECT_EQ(report.memory.peak_device_bytes, predicted_.peak_allocated_bytes);
    EXPECT_EQ(report.memory.host_bytes, predicted_.host_bytes);
    EXPECT_EQ(report.traffic.host_to_device_bytes, predicted_.traffic.host_to_device_bytes);
    EXPECT_EQ(report.traffic.device_to_host_bytes, predicted_.traffic.device_to_host_bytes);
    EXPECT_EQ(report.traffic.fetches, predicted_.traffic.fetches);
    EXPECT_EQ(report.traffic.evictions, predicted_.traffic.evictions);
  }

  static void expect_same(const Outcome& ours, const Outcome& eager) {
    EXPECT_EQ(ours.losses, eager.losses);
    ASSERT_EQ(ours.weights.size(), eager.weights.size());
    for (const auto& [name, bytes] : eager.weights) {
      ASSERT_TRUE(ours.weights.contains(name)) << name;
      EXPECT_TRUE(ours.weights.at(name) == bytes) << name << " differs";
    }
  }

  TrainingRun run_;
  std::unique_ptr<TestModel> model_;
  plan::Predicted predicted_;
  int threads_before_ = 1;
};

TEST_P(BitwiseLaw, OneMicroBatchOnTheDeviceAndOnTheHost) {
  const Outcome eager = model_->eager(run_, 1);
  ASSERT_EQ(eager.losses.size(), 10U);
  EXPECT_NE(eager.losses.front(), eager.losses.back());
  {
    SCOPED_TRACE("all on the device");
    expect_same(train(kAllOnDevice), eager);
    EXPECT_EQ(predicted_.traffic.fetches, 0);
  }
  {
    SCOPED_TRACE("whole masters");
    const std::int64_t split_bytes = predicted_.peak_allocated_bytes;
    Placement placement = kAllOnDevice;
    placement.master = plan::Master::kSeparate;
    expect_same(train(placement), eager);
    const bool half = GetParam().model.find("bf16") != std::string::npos;
    EXPECT_EQ(predicted_.peak_allocated_bytes > split_bytes, half);
  }
  const std::int64_t inputs_and_loss =
      predicted_.traffic.host_to_device_bytes + predicted_.traffic.device_to_host_bytes;
  {
    SCOPED_TRACE("optimizer on the host");
    expect_same(train(kOptimizerOnHost), eager);
    EXPECT_GT(predicted_.traffic.device_to_host_bytes, inputs_and_loss);
  }
  {
    SCOPED_TRACE("everything on the host, fewest blocks");
    expect_same(train(kAllOnHost), eager);
    EXPECT_GT(predicted_.traffic.evictions, 0);
    EXPECT_GT(predicted_.traffic.fetches, predicted_.traffic.evictions);
  }
  {
    SCOPED_TRACE("the same, streams beside each other");
    expect_same(train(kAllOnHost, {CpuOrder::Kind::kLanes}), eager);
  }
}

TEST_P(BitwiseLaw, OptimizerStateThatGoesThroughTheDevice) {
  run_.steps = 4;
  run_.optimizer.clip_norm = 0.5;
  for (const int micro_batches : {1, 2}) {
    const Outcome eager = model_->eager(run_, micro_batches);
    for (const plan::Home home : {plan::Home::kHost, plan::Home::kDevice}) {
      SCOPED_TRACE(home == plan::Home::kHost ? "parameters on the host" : "on the device");
      Placement placement = kStreamedUpdates;
      placement.parameters = home;
      placement.accumulation_steps = micro_batches;
      expect_same(train(placement), eager);
    }
  }
}

TEST_P(BitwiseLaw, MomentsThatAreMadeLate) {
  run_.steps = 4;
  run_.optimizer.clip_norm = 0.5;
  for (const int micro_batches : {1, 2}) {
    const Outcome eager = model_->eager(run_, micro_batches);
    for (Placement placement : {kLateMoments, kKeptGradients, kMomentsTogether}) {
      placement.accumulation_steps = micro_batches;
      const bool kept = placement.kept_gradients > 1;
      expect_same(train(placement, {kept ? CpuOrder::Kind::kLanes : CpuOrder::Kind::kIssued}),
                  eager);
    }
  }
}

TEST_P(BitwiseLaw, NarrowMomentsGiveTheSameBitsUnderEveryPlacement) {
  run_.steps = 4;
  run_.optimizer.beta2 = 0.95;
  run_.optimizer.clip_norm = 0.5;
  const Outcome wide = model_->eager(run_, 1);
  const auto narrow = [&](Placement placement) {
    placement.clips = true;
    placement.moments = program::DType::kBFloat16;
    return train(placement);
  };
  const Outcome on_device = narrow(kAllOnDevice);
  EXPECT_EQ(on_device.losses.front(), wide.losses.front());
  EXPECT_FALSE(on_device.weights == wide.weights);
  expect_same(narrow(kOptimizerOnHost), on_device);
  expect_same(narrow(kStreamedUpdates), on_device);
  expect_same(narrow(kLateMoments), on_device);
  expect_same(narrow(kMomentsTogether), on_device);
  Placement whole = kAllOnHost;
  whole.master = plan::Master::kSeparate;
  expect_same(narrow(whole), on_device);
}

TEST_P(BitwiseLaw, FourMicroBatchesWithAGlobalNorm) {
  run_.optimizer.clip_norm = 0.5;
  const Outcome eager = model_->eager(run_, 4);
  ASSERT_EQ(eager.losses.size(), 40U);
  for (Placement placement : {kAllOnDevice, kAllOnHost}) {
    SCOPED_TRACE(placement.parameters == plan::Home::kHost ? "on the host" : "on the device");
    placement.accumulation_steps = 4;
    placement.clips = true;
    expect_same(train(placement), eager);
    if (placement.parameters == plan::Home::kHost) {
      EXPECT_GT(predicted_.traffic.evictions, 0);
    }
  }
}

TEST_P(BitwiseLaw, RecomputedActivations) {
  const Outcome eager = model_->eager(run_, 1);
  const std::size_t operators = model_->program().operators.size();
  const std::size_t kept = edit::kept_activations(model_->program()).size();
  {
    SCOPED_TRACE("elementwise, all on the device");
    model_->recompute(edit::Recompute::kElementwise);
    expect_same(train(kAllOnDevice), eager);
    EXPECT_GT(model_->program().operators.size(), operators);
    EXPECT_LT(edit::kept_activations(model_->program()).size(), kept);
  }
  model_ = load();
  {
    SCOPED_TRACE("blocks, everything on the host, two micro-batches");
    model_->recompute(edit::Recompute::kBlocks);
    Placement placement = kAllOnHost;
    placement.accumulation_steps = 2;
    expect_same(train(placement), model_->eager(run_, 2));
    EXPECT_LT(edit::kept_activations(model_->program()).size(), kept);
  }
}

TEST_P(BitwiseLaw, OffloadedActivations) {
  run_.steps = 4;
  const std::int64_t kept_bytes = edit::kept_bytes(model_->program());
  {
    SCOPED_TRACE("all of them, all else on the device");
    const std::int64_t peak_bytes = model_->plan(kAllOnDevice).predicted.peak_allocated_bytes;
    model_->offload(1, 0);
    expect_same(train(kAllOnDevice), model_->eager(run_, 1));
    EXPECT_LT(predicted_.peak_allocated_bytes, peak_bytes);
    EXPECT_GT(predicted_.traffic.device_to_host_bytes, kept_bytes / 2);
    EXPECT_GT(predicted_.host_bytes, kept_bytes / 2);
  }
  model_ = load();
  {
    SCOPED_TRACE("where gradients come later");
    run_.optimizer.clip_norm = 0.5;
    Placement placement = kAllOnDevice;
    placement.clips = true;
    const Outcome eager = model_->eager(run_, 1);
    model_->offload(1, 0);
    EXPECT_GT(schedule::lent_bytes(model_->program(), model_->plan(placement)), 0);
    expect_same(train(placement), eager);
    EXPECT_LT(predicted_.host_bytes, edit::offloaded_bytes(model_->program()));
  }
  model_ = load();
  {
    SCOPED_TRACE("some of what blocks keep, everything on the host, four micro-batches, clipped");
    run_.optimizer.clip_norm = 0.5;
    model_->recompute(edit::Recompute::kBlocks);
    model_->offload(2, 1 << 14);
    Placement placement = kAllOnHost;
    placement.accumulation_steps = 4;
    placement.clips = true;
    expect_same(train(placement), model_->eager(run_, 4));
  }
}

TEST_P(BitwiseLaw, AReloadLeftOutGivesNaN) {
  model_->offload(1, 0);
  Trainer trainer(model_->captured(), model_->plan(kAllOnDevice), options(), model_->weights());
  trainer.step(model_->batch(1, 1), run_.learning_rate).wait();
  schedule::Schedule broken = trainer.schedule();
  const auto left = std::remove_if(broken.tasks.begin(), broken.tasks.end(), [](const auto& task) {
    return task.kind == schedule::TaskKind::kReload;
  });
  ASSERT_NE(left, broken.tasks.end());
  broken.tasks.erase(left, broken.tasks.end());
  TrainerInternals::replace_schedule(trainer, broken);
  // The loss is made before; the gradients are not finite.
  EXPECT_THROW(
      {
        trainer.step(model_->batch(2, 1), run_.learning_rate).wait();
        trainer.step(model_->batch(3, 1), run_.learning_rate).wait();
      },
      Error);
}

/// All plans with a fused loss give the same bits, with the memory predicted. They are close to
/// those of eager LibTorch, which rounds differently.
TEST_P(BitwiseLaw, AFusedLossGivesTheSameBitsUnderEveryPlacement) {
  run_.steps = 3;
  const std::size_t operators = model_->program().operators.size();
  const Outcome eager = model_->eager(run_, 1);
  const std::int64_t unfused_bytes = model_->plan(kAllOnDevice).predicted.peak_allocated_bytes;
  model_->fuse_loss();
  EXPECT_LT(model_->program().operators.size(), operators);
  const Outcome fused = train(kAllOnDevice);
  EXPECT_LE(predicted_.peak_allocated_bytes, unfused_bytes);
  expect_same(train(kAllOnHost), fused);
  model_->recompute(edit::Recompute::kBlocks);
  expect_same(train(kOptimizerOnHost), fused);
  const float expected = float_of(eager.losses.front());
  const bool half = GetParam().model.find("bf16") != std::string::npos;
  EXPECT_NEAR(float_of(fused.losses.front()), expected, (half ? 1e-2F : 1e-5F) * expected);
}

/// Every product that can be aligned is, although these small ones gain nothing by it.
TEST_P(BitwiseLaw, AlignedProductsGiveTheSameBitsUnderEveryPlacement) {
  run_.steps = 3;
  const Outcome eager = model_->eager(run_, 1);
  model_->fuse_loss();
  model_->align_products();
  const auto& operators = model_->program().operators;
  EXPECT_TRUE(std::any_of(operators.begin(), operators.end(), [](const program::Operator& op) {
    return operators::is_aligned_product(op.name);
  }));
  const Outcome aligned = train(kAllOnDevice);
  expect_same(train(kAllOnHost), aligned);
  model_->recompute(edit::Recompute::kBlocks);
  expect_same(train(kOptimizerOnHost), aligned);
  const float expected = float_of(eager.losses.front());
  const bool half = GetParam().model.find("bf16") != std::string::npos;
  EXPECT_NEAR(float_of(aligned.losses.front()), expected, (half ? 1e-2F : 1e-5F) * expected);
}

TEST_P(BitwiseLaw, FusedElementwiseOperatorsGiveTheSameBitsUnderEveryPlacement) {
  run_.steps = 3;
  const Outcome eager = model_->eager(run_, 1);
  const std::int64_t unfused_bytes = model_->plan(kAllOnDevice).predicted.peak_allocated_bytes;
  model_->fuse_elementwise();
  const auto& operators = model_->program().operators;
  EXPECT_TRUE(std::any_of(operators.begin(), operators.end(), [](const program::Operator& op) {
    return op.name == operators::kFused;
  }));
  const Outcome fused = train(kAllOnDevice);
  EXPECT_LE(predicted_.peak_allocated_bytes, unfused_bytes);
  {
    SCOPED_TRACE("everything on the host, blocks recomputed");
    model_->recompute(edit::Recompute::kBlocks);
    expect_same(train(kAllOnHost), fused);
  }
  {
    SCOPED_TRACE("norms and elementwise recomputed, the rest offloaded");
    model_->recompute(edit::Recompute::kElementwise);
    model_->offload(2, 0);
    expect_same(train(kOptimizerOnHost), fused);
  }
  const float expected = float_of(eager.losses.front());
  const bool half = GetParam().model.find("bf16") != std::string::npos;
  EXPECT_NEAR(float_of(fused.losses.front()), expected, (half ? 1e-2F : 1e-5F) * expected);
}

/// A gradient that is one rounding of 16 bits away from eager's may round to the next value.
TEST_P(BitwiseLaw, GradientsOfAFusedLossAreCloseToThoseOfEagerAutograd) {
  run_.optimizer.beta1 = 0.0;  // so that the first moment is the gradient
  const Gradients eager = model_->eager_gradients(run_);
  model_->fuse_loss();
  Trainer trainer(model_->captured(), model_->plan(kAllOnDevice), options(), model_->weights());
  trainer.step(model_->batch(1, 1), run_.learning_rate).wait();
  const Gradients fused = gradients_of(trainer);
  ASSERT_EQ(fused.size(), eager.size());
  const double tolerance = GetParam().model.find("bf16") != std::string::npos ? 2e-2 : 1e-4;
  double difference = 0, size = 0;
  for (const auto& [name, gradient] : eager) {
    ASSERT_EQ(fused.at(name).size(), gradient.size()) << name;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double less = static_cast<double>(fused.at(name)[i]) - gradient[i];
      difference += less * less;
      size += static_cast<double>(gradient[i]) * gradient[i];
    }
  }
  EXPECT_GT(size, 0);
  EXPECT_LT(std::sqrt(difference), tolerance * std::sqrt(size));
}

TEST_P(BitwiseLaw, GradientsOfTheFirstStepAreThoseOfEagerAutograd) {
  run_.optimizer.beta1 = 0.0;  // so that the first moment is the gradient
  const Gradients eager = model_->eager_gradients(run_);
  EXPECT_FALSE(eager.empty());
  Trainer trainer(model_->captured(), model_->plan(kAllOnHost), options(), model_->weights());
  trainer.step(model_->batch(1, 1), run_.learning_rate).wait();
  EXPECT_EQ(gradients_of(trainer), eager);
}

TEST_P(BitwiseLaw, AFetchLeftOutGivesNaN) {
  const plan::Plan plan = model_->plan(kAllOnHost);
  Trainer trainer(model_->captured(), plan, options(), model_->weights());
  trainer.step(model_->batch(1, 1), run_.learning_rate).wait();
  schedule::Schedule broken = trainer.schedule();
  const auto fetch = std::find_if(broken.tasks.begin(), broken.tasks.end(), [](const auto& task) {
    return task.kind == schedule::TaskKind::kFetch;
  });
  ASSERT_NE(fetch, broken.tasks.end());
  broken.tasks.erase(fetch);
  TrainerInternals::replace_schedule(trainer, broken);
  try {
    trainer.step(model_->batch(2, 1), run_.learning_rate).wait();
    ADD_FAILURE() << "the loss is finite";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kLossNotFinite);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models,
    BitwiseLaw,
    testing::Values(Case{"gpt2-tiny", 512, 1},
                    Case{"convnet", 10, 1},  // no block repeats
                    Case{"rotary", 32, 1},
                    Case{"gpt2-tiny", 512, 2},
                    Case{"opt-tiny", 512, 1},
                    Case{"opt-tiny", 512, 2},
                    Case{"llama-tiny", 512, 1},
                    Case{"llama-tiny", 512, 2},
                    Case{"bert-tiny", 512, 1},
                    Case{"bert-tiny", 512, 2},
                    Case{"t5-tiny", 512, 1},
                    Case{"t5-tiny", 512, 2},
                    Case{"vit-tiny", 10, 1},
                    Case{"vit-tiny", 10, 2},
                    Case{"resnet-tiny", 10, 1},
                    Case{"resnet-tiny", 10, 2},
                    Case{"gpt2-tiny-bf16", 512, 1},
                    Case{"llama-tiny-bf16", 512, 2},
                    // In bf16 the CPU's products take as much as experts get rows.
                    Case{"mixtral-tiny", 512, 2},
                    Case{"bert-odd-bf16", 1029, 2}),
    name_of);

}  // namespace
}  // namespace elixir::runtime
