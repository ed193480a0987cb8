// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Training with a loss scale. A scale that is a power of two changes no bit in fp32, so a run with
// one is compared with a run without one that leaves the skipped steps out.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/trainer_test_case.h"
#include "runtime/training.h"

namespace elixir::runtime {
namespace {

constexpr std::int64_t kSteps = 12;

/// From 2^128 on, the gradient of the loss is infinite in fp32.
constexpr LossScaleOptions kSkips{.initial = 0x1p140, .backoff = 0x1p-40};
constexpr std::int64_t kSkipped[] = {1, 4, 5, 8, 11};

/// Before these steps the scale is made too large, once for two steps.
void enlarge_scale(Trainer& trainer, std::int64_t step) {
  if (step != 4 && step != 8 && step != 11) return;
  LossScaleState state = *trainer.loss_scale();
  state.scale = step == 4 ? 0x1p180 : 0x1p140;
  trainer.set_loss_scale(state);
}

bool is_skipped(std::int64_t step) {
  return std::find(std::begin(kSkipped), std::end(kSkipped), step) != std::end(kSkipped);
}

struct Made {
  std::vector<std::string> losses;
  std::vector<double> norms, rates;
  State state;
};

class LossScale : public testing::Test {
 protected:
  LossScale() : plain_(model_path("gpt2-tiny"), 512, kCpu), scaled_(plain_) {
    at::set_num_threads(1);
    scaled_.scale_loss();
    run_.optimizer.clip_norm = 0.5;
  }

  [[nodiscard]] TrainerOptions options(const LossScaleOptions& scale) const {
    TrainerOptions options = options_with(run_);
    options.loss_scale = scale;
    return options;
  }

  /// The learning rate of an update, which differs from that of every other.
  static double rate(std::int64_t update) { return 1e-3 * static_cast<double>(update); }

  static Made made_of(const std::vector<StepReport>& reports, Trainer& trainer) {
    Made made;
    for (const StepReport& report : reports) {
      for (const float loss : report.micro_losses) made.losses.push_back(bits_of(loss));
      made.norms.push_back(*report.gradient_norm);
      made.rates.push_back(report.learning_rate);
    }
    made.state = state_of(trainer);
    return made;
  }

  /// Each step begins before the one before it is settled.
  Made with_scale(const Placement& placement) {
    Trainer trainer(
        scaled_.captured(), scaled_.plan(placement), options(kSkips), scaled_.weights());
    std::vector<StepReport> reports;
    std::optional<PendingStep> before;
    const auto finish = [&] {
      if (!before) return;
      const std::int64_t step = before->number();
      StepReport report = before->report();
      EXPECT_EQ(report.skipped, is_skipped(step)) << step;
      EXPECT_EQ(report.gradient_norm.has_value(), !report.skipped);
      if (!report.skipped) reports.push_back(std::move(report));
    };
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      enlarge_scale(trainer, step);
      const std::int64_t update = trainer.updates_done() + 1;
      const bool waits = trainer.has_step_under_way();
      PendingStep next = trainer.step(scaled_.batch(step, placement.accumulation_steps),
                                      rate(waits ? update + 1 : update),
                                      {.rate_after_skip = rate(update)});
      finish();
      before = std::move(next);
    }
    finish();
    EXPECT_EQ(trainer.loss_scale()->skipped_steps, std::ssize(kSkipped));
    EXPECT_EQ(trainer.updates_done(), kSteps - std::ssize(kSkipped));
    return made_of(reports, trainer);
  }

  Made without_scale(const Placement& placement) {
    Trainer trainer(plain_.captured(), plain_.plan(placement), options({}), plain_.weights());
    std::vector<StepReport> reports;
    std::int64_t skipped = 0;
    for (std::int64_t step = 1; step <= kSteps; ++step) {
      if (is_skipped(step)) {
        trainer.set_loss_scale({.skipped_steps = ++skipped});
        trainer.set_steps_done(step);
        continue;
      }
      reports.push_back(trainer
                            .step(plain_.batch(step, placement.accumulation_steps),
                                  rate(trainer.updates_done() + 1))
                            .report());
    }
    return made_of(reports, trainer);
  }

  TrainingRun run_;
  TestModel plain_, scaled_;
};

TEST_F(LossScale, SkippedStepsChangeNoBitUnderAnyPlacement) {
  std::vector<Placement> placements = {kAllOnDevice,
                                       kOptimizerOnHost,
                                       kAllOnHost,
                                       kStreamedUpdates,
                                       kLateMoments,
                                       kKeptGradients,
                                       kMomentsTogether};
  for (std::size_t i = 0; i < 3; ++i) {
    placements.push_back(placements[i]);
    placements.back().accumulation_steps = 3;
  }
  for (Placement& placement : placements) {
    SCOPED_TRACE(&placement - placements.data());
    placement.clips = true;
    const Made expected = without_scale(placement);
    const Made made = with_scale(placement);
    EXPECT_EQ(made.losses, expected.losses);
    EXPECT_EQ(made.norms, expected.norms);
    EXPECT_EQ(made.rates, expected.rates);
    expect_equal(made.state, expected.state);
  }
}

TEST_F(LossScale, NeedsNoClipping) {
  run_.optimizer.clip_norm = 0;
  Placement placement = kOptimizerOnHost;
  placement.clips = true;  // updates wait for the norm all the same
  const Made made = with_scale(placement);
  run_.optimizer.clip_norm = std::numeric_limits<double>::max();
  const Made expected = without_scale(placement);
  EXPECT_EQ(made.losses, expected.losses);
  EXPECT_EQ(made.norms, expected.norms);
  expect_equal(made.state, expected.state);
}

TEST_F(LossScale, AStateGoesOnWhereItWas) {
  Placement placement = kAllOnHost;
  placement.clips = true;
  const plan::Plan plan = scaled_.plan(placement);
  const Made whole = with_scale(placement);
  State state;
  LossScaleState scale;
  constexpr std::int64_t kFirst = 5;
  {
    Trainer first(scaled_.captured(), plan, options(kSkips), scaled_.weights());
    for (std::int64_t step = 1; step <= kFirst; ++step) {
      enlarge_scale(first, step);
      first.step(scaled_.batch(step, 1), rate(first.updates_done() + 1)).wait();
    }
    state = state_of(first);
    scale = *first.loss_scale();
  }
  Trainer second(scaled_.captured(), plan, options({}), scaled_.weights());
  EXPECT_NE(second.loss_scale()->scale, scale.scale);
  for (const auto& [key, value] : state) {
    if (value.defined()) second.set_state(key.first, key.second, value);
  }
  second.set_steps_done(kFirst);
  second.set_loss_scale(scale);
  std::vector<StepReport> reports;
  for (std::int64_t step = kFirst + 1; step <= 7; ++step) {
    reports.push_back(
        second.step(scaled_.batch(step, 1), rate(second.updates_done() + 1)).report());
    EXPECT_EQ(reports.back().loss_scale, scale.scale);
  }
  const Made made = made_of(reports, second);
  EXPECT_EQ(made.losses, (std::vector<std::string>{whole.losses[2], whole.losses[3]}));
  EXPECT_EQ(made.norms, (std::vector<double>{whole.norms[2], whole.norms[3]}));
}

TEST_F(LossScale, OverflowAtTheMinimumEndsTheRun) {
  Placement placement = kAllOnDevice;
  placement.clips = true;
  Trainer trainer(scaled_.captured(),
                  scaled_.plan(placement),
                  options(LossScaleOptions::fixed(0x1p140)),
                  scaled_.weights());
  try {
    trainer.step(scaled_.batch(1, 1), 1e-3).wait();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kNotFinite);
    ASSERT_FALSE(error.info().notes.empty());
    EXPECT_NE(error.info().notes.back().find("becomes no smaller"), std::string::npos);
  }
}

TEST_F(LossScale, IsThatOfPlansThatHaveOne) {
  Placement placement = kAllOnDevice;
  placement.clips = true;
  Trainer trainer(plain_.captured(), plain_.plan(placement), options(kSkips), plain_.weights());
  const StepReport report = trainer.step(plain_.batch(1, 1), 1e-3).report();
  EXPECT_FALSE(report.skipped);
  EXPECT_FALSE(report.loss_scale.has_value());
  EXPECT_FALSE(trainer.loss_scale().has_value());
}

}  // namespace
}  // namespace elixir::runtime
