// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/skipping_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace elixir::runtime {
namespace {

bool is_skipped(std::int64_t step) {
  return std::find(std::begin(kSkipped), std::end(kSkipped), step) != std::end(kSkipped);
}

}  // namespace

void enlarge_scale(Trainer& trainer, std::int64_t step) {
  if (step != 4 && step != 8 && step != 11) return;
  LossScaleState state = *trainer.loss_scale();
  state.scale = step == 4 ? 0x1p180 : 0x1p140;
  trainer.set_loss_scale(state);
}

double rate_of_update(std::int64_t update) {
  return 1e-3 * static_cast<double>(update);
}

Made made_of(const std::vector<StepReport>& reports, Trainer& trainer) {
  Made made;
  for (const StepReport& report : reports) {
    for (const float loss : report.micro_losses) made.losses.push_back(bits_of(loss));
    made.norms.push_back(*report.gradient_norm);
    made.rates.push_back(report.learning_rate);
  }
  made.state = state_of(trainer);
  return made;
}

void expect_same(const Made& a, const Made& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.norms, b.norms);
  EXPECT_EQ(a.rates, b.rates);
  expect_equal(a.state, b.state);
}

Made SkippingRun::with_scale() const {
  Trainer trainer(model.captured(), plan, options, model.weights());
  std::vector<StepReport> reports;
  std::optional<PendingStep> before;
  const auto finish = [&] {
    if (!before) return;
    StepReport report = before->report();
    EXPECT_EQ(report.skipped, is_skipped(before->number())) << before->number();
    EXPECT_EQ(report.gradient_norm.has_value(), !report.skipped);
    if (!report.skipped) reports.push_back(std::move(report));
  };
  for (std::int64_t step = 1; step <= kSkippingSteps; ++step) {
    enlarge_scale(trainer, step);
    const std::int64_t update = trainer.updates_done() + 1;
    const bool waits = trainer.has_step_under_way();
    PendingStep next = trainer.step(model.batch(step, plan.accumulation_steps),
                                    rate_of_update(waits ? update + 1 : update),
                                    {.rate_after_skip = rate_of_update(update)});
    finish();
    before = std::move(next);
  }
  finish();
  EXPECT_EQ(trainer.loss_scale()->skipped_steps, std::ssize(kSkipped));
  EXPECT_EQ(trainer.updates_done(), kSkippingSteps - std::ssize(kSkipped));
  return made_of(reports, trainer);
}

Made SkippingRun::without_scale() const {
  Trainer trainer(model.captured(), plan, options, model.weights());
  std::vector<StepReport> reports;
  std::int64_t skipped = 0;
  for (std::int64_t step = 1; step <= kSkippingSteps; ++step) {
    if (is_skipped(step)) {
      trainer.set_loss_scale({.skipped_steps = ++skipped});
      trainer.set_steps_done(step);
      continue;
    }
    reports.push_back(trainer
                          .step(model.batch(step, plan.accumulation_steps),
                                rate_of_update(trainer.updates_done() + 1))
                          .report());
  }
  return made_of(reports, trainer);
}

}  // namespace elixir::runtime
