// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Training with a loss scale, on the CPU device.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/error.h"
#include "runtime/skipping_run.h"

namespace elixir::runtime {
namespace {

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
  [[nodiscard]] SkippingRun run(const TestModel& model, Placement placement) const {
    placement.clips = true;  // updates wait for the norm, also where nothing is clipped
    return {model, model.plan(placement), options(kSkips)};
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
  for (const Placement& placement : placements) {
    SCOPED_TRACE(&placement - placements.data());
    expect_same(run(scaled_, placement).with_scale(), run(plain_, placement).without_scale());
  }
}

TEST_F(LossScale, NeedsNoClipping) {
  run_.optimizer.clip_norm = 0;
  const Made made = run(scaled_, kOptimizerOnHost).with_scale();
  run_.optimizer.clip_norm = std::numeric_limits<double>::max();
  expect_same(made, run(plain_, kOptimizerOnHost).without_scale());
}

TEST_F(LossScale, AStateGoesOnWhereItWas) {
  const SkippingRun run = this->run(scaled_, kAllOnHost);
  const plan::Plan& plan = run.plan;
  const Made whole = run.with_scale();
  State state;
  LossScaleState scale;
  constexpr std::int64_t kFirst = 5;
  {
    Trainer first(scaled_.captured(), plan, options(kSkips), scaled_.weights());
    for (std::int64_t step = 1; step <= kFirst; ++step) {
      enlarge_scale(first, step);
      first.step(scaled_.batch(step, 1), rate_of_update(first.updates_done() + 1)).wait();
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
        second.step(scaled_.batch(step, 1), rate_of_update(second.updates_done() + 1)).report());
    EXPECT_EQ(reports.back().loss_scale, scale.scale);
  }
  const Made made = made_of(reports, second);
  EXPECT_EQ(made.losses, (std::vector<std::string>{whole.losses[2], whole.losses[3]}));
  EXPECT_EQ(made.norms, (std::vector<double>{whole.norms[2], whole.norms[3]}));
}

TEST_F(LossScale, OverflowAtTheMinimumEndsTheRun) {
  Trainer trainer(scaled_.captured(),
                  run(scaled_, kAllOnDevice).plan,
                  options(LossScaleOptions::fixed(0x1p140)),
                  scaled_.weights());
  try {
    trainer.step(scaled_.batch(1, 1), 1e-3).wait();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kNotFinite);
    ASSERT_FALSE(error.info().notes.empty());
    EXPECT_NE(error.info().notes.back().find("which becomes no smaller"), std::string::npos);
  }
}

TEST_F(LossScale, IsThatOfPlansThatHaveOne) {
  Trainer trainer(
      plain_.captured(), run(plain_, kAllOnDevice).plan, options(kSkips), plain_.weights());
  const StepReport report = trainer.step(plain_.batch(1, 1), 1e-3).report();
  EXPECT_FALSE(report.skipped);
  EXPECT_FALSE(report.loss_scale.has_value());
  EXPECT_FALSE(trainer.loss_scale().has_value());
}

}  // namespace
}  // namespace elixir::runtime
