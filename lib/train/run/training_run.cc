// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/training_run.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/interrupt.h"
#include "train/data/missing_labels.h"
#include "train/run/evaluation.h"
#include "train/run/metrics.h"
#include "train/run/training_state.h"

namespace elixir::train {
namespace {

/// The error of a step that failed: a loss that is not finite because a micro-batch has no labels
/// is the data's fault.
Error explained(const Error& error,
                const RunInputs& inputs,
                const RunOptions& options,
                std::int64_t step) {
  const ErrorCode code = error.info().code;
  if (code != ErrorCode::kLossNotFinite && code != ErrorCode::kNotFinite) return error;
  const int micro_batches = inputs.plan.accumulation_steps * inputs.plan.world;
  for (int micro = 0; micro < micro_batches; ++micro) {
    const auto why =
        missing_labels(inputs.captured.program, inputs.data->training(options.seed, step, micro));
    if (!why) continue;
    return Error(ErrorCode::kLossNotFinite,
                 "the loss of step {} is nan: micro-batch {} has no labels",
                 step,
                 micro)
        .note(*why)
        .help("leave rows without labels out of the data");
  }
  return error;
}

}  // namespace

bool times_tasks(std::int64_t step, const StepRange& run) {
  constexpr std::int64_t kEvery = 16;
  if (run.last - run.first < 2) return true;
  return step == run.last - 1 || (step % kEvery == kEvery - 1 && step != run.last);
}

TrainingRun::TrainingRun(const RunInputs& inputs,
                         RunOptions options,
                         std::optional<FoundCheckpoint> from,
                         RunObserver& observer)
    : inputs_(inputs), options_(std::move(options)), from_(std::move(from)), observer_(observer) {
  fill();
  if (inputs_.held_out) trainer_->prepare_evaluation();
}

void TrainingRun::fill() {
  runtime::TrainerOptions wanted = trainer_options(inputs_, options_);
  if (from_) wanted.cpu_threads = from_->info.cpu_threads;
  wanted.on_fill = [this](double done_fraction, const std::string& parameter) {
    observer_.filling(done_fraction, parameter);
  };
  runtime::TensorSource source = inputs_.weights;
  if (from_) source = without_checkpointed(inputs_.captured.program, std::move(source));
  trainer_.emplace(inputs_, std::move(wanted), from_.has_value(), [&](const std::string& name) {
    throw_if_interrupted();
    return source(name);
  });
  observer_.filled();
}

void TrainingRun::begin(RunDirectory& directory, const RunChoices& choices) {
  directory_ = &directory;
  try {
    trainer_->join(directory);
  } catch (const Error&) {
    directory.abandon();
    throw;
  }
  std::optional<Attempt::Parent> parent;
  if (from_) {
    trainer_->restore(directory.checkpoints(), from_->name);
    trainer_->set_steps_done(from_->info.step, from_->info.loss_scale);
    result_.checkpoint_step = from_->info.step;
    parent = {from_->info.attempt.id, from_->info.step};
  }
  directory.begin(parent, inputs_.fingerprint, choices, make_meta(options_.tool, options_.argv));
  checkpoints_.emplace(directory, inputs_, options_, result_.checkpoint_step);
}

RunResult TrainingRun::train() {
  require(checkpoints_.has_value(), "a run trains before it has a directory");
  if (inputs_.held_out && trainer_->steps_done() == 0) {
    result_.first_held_out_loss = result_.held_out_loss = evaluate();
    if (result_.held_out_loss) observer_.evaluated_untrained(*result_.held_out_loss);
  }
  try {
    train_steps();
    result_.times = trainer_->gather_times(times_);
  } catch (const Error& failure) {
    Error error = explained(failure, inputs_, options_, trainer_->steps_done() + 1);
    checkpoints_->note_newest(error);
    throw error;
  }
  result_.steps_done = trainer_->steps_done();
  result_.loss_scale = trainer_->loss_scale();
  result_.checkpoint_step = checkpoints_->newest_step();
  return std::move(result_);
}

void TrainingRun::train_steps() {
  std::int64_t started = trainer_->steps_done();
  first_step_ = started + 1;
  std::optional<runtime::PendingStep> under_way;
  const auto finish = [&] {
    if (under_way) finish_step(*std::exchange(under_way, std::nullopt));
  };
  while (started < options_.steps && !interrupted()) {
    runtime::PendingStep next = start_step(++started);
    finish();  // the one before; its updates ran beside the forward pass of this one
    under_way = std::move(next);
    if (evaluates_after(started) || checkpoints_->due_after(started)) finish();
    if (checkpoints_->due_after(started)) write_checkpoint();
  }
  finish();
  result_.all_steps_done = trainer_->steps_done() >= options_.steps;
  if (!result_.all_steps_done) observer_.stopping(trainer_->steps_done());
  if (checkpoints_->due_at_end(result_.all_steps_done)) write_checkpoint();
}

runtime::PendingStep TrainingRun::start_step(std::int64_t step) {
  const runtime::MicroBatches batch = batch_of_step(inputs_, options_, step);
  const bool time_tasks = times_tasks(step, {first_step_, options_.steps});
  return trainer_->step(step, batch, options_.learning_rate, {.time_tasks = time_tasks});
}

void TrainingRun::finish_step(const runtime::PendingStep& step) {
  StepRecord record;
  record.step = step.number();
  record.report = trainer_->report(step);
  result_.last_loss = record.report.loss;
  if (record.report.skipped) ++result_.skipped_here;
  if (!result_.first_loss) result_.first_loss = record.report.loss;
  if (evaluates_after(record.step)) {
    record.held_out_loss = evaluate();
    if (record.held_out_loss) result_.held_out_loss = record.held_out_loss;
  }
  directory_->append_metrics(metrics_line(record, inputs_));
  observer_.step_done(record);
  times_.take(record.report);
}

bool TrainingRun::evaluates_after(std::int64_t step) const {
  if (!inputs_.held_out) return false;
  const std::int64_t every = options_.evaluate_every;
  return step == options_.steps || (every > 0 && step % every == 0);
}

void TrainingRun::write_checkpoint() {
  const std::int64_t step = trainer_->steps_done();
  checkpoints_->write(
      *trainer_, [&](double done_fraction) { observer_.writing_checkpoint(step, done_fraction); });
}

std::optional<std::int64_t> TrainingRun::keep(Error& error) {
  try {
    write_checkpoint();
  } catch (const Error& failure) {
    error.note(fmt::format("no checkpoint either: {}", failure.info().message));
  }
  checkpoints_->note_newest(error);
  return checkpoints_->newest_step();
}

std::optional<double> TrainingRun::evaluate() {
  if (!inputs_.held_out) return std::nullopt;
  return train::evaluate(*trainer_, *inputs_.held_out, options_.evaluation_batches);
}

}  // namespace elixir::train
