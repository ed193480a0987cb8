// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The output of a run for its user: lines of the log, a progress line on terminals, and a warning
// about losses that are too low. Also collects the measurements of the steps.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "report/screen/train_log.h"
#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/measurements.h"
#include "tools/train/options.h"
#include "tools/train/slow_progress.h"
#include "train/data/token_entropy.h"
#include "train/run/run_observer.h"

namespace elixir::tools {

class RunScreen : public train::RunObserver {
 public:
  /// All arguments must outlive it.
  RunScreen(const TrainOptions& options, const TrainInputs& inputs, Context& context);

  void filling(double done_fraction, const std::string& parameter) override;
  void filled() override { fill_progress_.reset(); }
  void evaluated_untrained(double held_out_loss) override;
  void step_done(const train::StepRecord& record) override;
  void writing_checkpoint(std::int64_t step, double done_fraction) override;
  void stopping(std::int64_t steps_done) override;

  /// Removes the progress line after the last step.
  void end() { progress_.reset(); }
  [[nodiscard]] const Measurements& measurements() const { return measurements_; }

 private:
  void show(std::int64_t step, const std::string& text);
  void doubt_loss(const train::StepRecord& record);

  const TrainOptions& options_;
  const TrainInputs& inputs_;
  Context& context_;
  std::optional<SlowProgress> fill_progress_;
  std::unique_ptr<report::LinePrinter> progress_;
  report::TrainLog log_;
  std::optional<train::LossWatch> loss_watch_;
  Measurements measurements_;
};

}  // namespace elixir::tools
