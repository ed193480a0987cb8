// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/screen.h"

#include <fmt/format.h>

#include "core/log.h"
#include "tools/train/data_notes.h"
#include "train/run/metrics.h"

namespace elixir::tools {

RunScreen::RunScreen(const TrainOptions& options, const TrainInputs& inputs, Context& context)
    : options_(options),
      inputs_(inputs),
      context_(context),
      fill_progress_(std::in_place, context),
      log_(report::TrainLog::Run{options.steps,
                                 options.log_every,
                                 train::tokens_per_s(inputs.run, 1e9),
                                 inputs.run.flops_per_step}) {
  const train::Dataset& data = *inputs.run.data;
  if (const auto step_tokens = inputs.run.tokens_per_step();
      step_tokens && inputs.label_use.has_class_loss) {
    loss_watch_.emplace([&data] { return data.next_token_entropy(); }, data.size(), *step_tokens);
  }
}

void RunScreen::filling(double done_fraction, const std::string& parameter) {
  fill_progress_->update(done_fraction, "filling weights: " + parameter);
}

void RunScreen::evaluated_untrained(double held_out_loss) {
  log::info(fmt::format("held-out loss before training {:.4f}{}",
                        held_out_loss,
                        loss_unit(*inputs_.run.data, inputs_.run.data_format)));
}

void RunScreen::step_done(const train::StepRecord& record) {
  measurements_.add(record.report);
  const report::LoggedStep step{record.step,
                                record.report.loss,
                                record.held_out_loss,
                                record.report.learning_rate,
                                record.report.gradient_norm,
                                record.report.loss_scale,
                                record.report.skipped,
                                record.report.step_ns,
                                record.report.memory.peak_device_bytes};
  if (const auto line = log_.add(step)) log::info(*line);
  show(step.step, log_.brief(step));
  doubt_loss(record);
}

void RunScreen::doubt_loss(const train::StepRecord& record) {
  if (!loss_watch_) return;
  auto doubt = loss_watch_->training(record.step, record.report.loss);
  if (!doubt && record.held_out_loss) doubt = loss_watch_->held_out(*record.held_out_loss);
  if (!doubt) return;
  const std::string labels = labels_text(
      inputs_.run.captured.program, inputs_.label_use, inputs_.data_files.format, inputs_.labels);
  context_.warn(*doubt,
                {"are the labels the inputs? This run's: " + labels,
                 "or the data repeats itself, and then nothing is wrong"});
}

void RunScreen::writing_checkpoint(std::int64_t step, double done_fraction) {
  show(step,
       fmt::format("step {}/{}  writing its checkpoint, {:.0f} %",
                   step,
                   options_.steps,
                   100 * done_fraction));
}

void RunScreen::stopping(std::int64_t steps_done) {
  log::info(fmt::format("finishing: writing the checkpoint of step {}", steps_done));
}

void RunScreen::show(std::int64_t step, const std::string& text) {
  // Without a terminal, the log's lines show the progress.
  if (!context_.err_style().terminal) return;
  if (!progress_) progress_ = context_.progress();
  progress_->update(static_cast<double>(step) / static_cast<double>(options_.steps), text);
}

}  // namespace elixir::tools
