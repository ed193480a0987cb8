// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/led_trainer.h"

#include <exception>
#include <filesystem>
#include <utility>

#include "train/run/ranks/rank_checkpoints.h"
#include "train/run/step_labels.h"

namespace elixir::train {
using runtime::StatePart;

/// What micro-batches and batches of held-out data count for.
struct LedTrainer::Labels {
  StepLabels of_steps;
  std::optional<LabelCount> held_out;
};

LedTrainer::LedTrainer(const RunInputs& inputs,
                       runtime::TrainerOptions options,
                       bool from_checkpoint,
                       const runtime::TensorSource& source)
    : inputs_(inputs), ranks_(options.ranks), labels_(std::make_unique<Labels>()) {
  tell({.call = RankCall::kBegin, .number = options.cpu_threads, .flag = from_checkpoint});
  trainer_.emplace(inputs.captured, inputs.plan, std::move(options), source);
}

LedTrainer::~LedTrainer() {
  // When this rank fails, the others fail too, and hear why by the signs of life.
  if (std::uncaught_exceptions() > exceptions_) return;
  try {
    tell({.call = RankCall::kEnd});
  } catch (const std::exception&) {  // they are gone already
  }
}

void LedTrainer::tell(const RankCommand& command) {
  if (ranks_.control != nullptr) send(command, *ranks_.control);
}

runtime::PendingStep LedTrainer::step(std::int64_t number,
                                      const runtime::MicroBatches& batch,
                                      const LearningRate& learning_rate,
                                      runtime::StepOptions options) {
  // A step under way may turn out to be skipped.
  const std::int64_t update = trainer_->updates_done() + 1;
  const double after_skip = learning_rate.at(update);
  const double rate = trainer_->has_step_under_way() ? learning_rate.at(update + 1) : after_skip;
  tell({.call = RankCall::kStep,
        .number = number,
        .value = rate,
        .value_after_skip = after_skip,
        .flag = options.time_tasks});
  options.labels = labels_->of_steps.of(batch, inputs_, *trainer_);
  options.rate_after_skip = after_skip;
  return trainer_->step(batch, rate, options);
}

runtime::StepReport LedTrainer::report(const runtime::PendingStep& step) {
  tell({.call = RankCall::kWait, .number = step.number()});
  return step.report();
}

std::vector<TimedStep> LedTrainer::gather_times(const TimedStep& own) {
  tell({.call = RankCall::kTimes});
  return train::gather_times(own, ranks_.control);
}

void LedTrainer::prepare_evaluation() {
  tell({.call = RankCall::kPrepareEvaluation});
  trainer_->prepare_evaluation(inputs_.held_out->program);
}

LedTrainer::BatchLoss LedTrainer::evaluate(std::int64_t batch, std::int64_t batches) {
  tell({.call = RankCall::kEvaluate, .number = batch, .of = batches});
  const HeldOut& held_out = *inputs_.held_out;
  const BatchInputs tensors = held_out.data->evaluation(batch, batches);
  if (!labels_->held_out) {
    labels_->held_out = LabelCount::of(
        held_out.program, [&](const std::string& name) { return trainer_->buffer(name); });
  }
  BatchLoss result;
  result.loss = trainer_->evaluate(held_out.program, tensors);
  if (labels_->held_out) result.labels = labels_->held_out->count(tensors);
  return result;
}

at::Tensor LedTrainer::state(const std::string& parameter, StatePart part) {
  tell({.call = RankCall::kState, .part = part, .name = parameter});
  return trainer_->state(parameter, part);
}

void LedTrainer::set_steps_done(std::int64_t steps,
                                const std::optional<runtime::LossScaleState>& scale) {
  const runtime::LossScaleState now =
      scale ? *scale : trainer_->loss_scale().value_or(runtime::LossScaleState{});
  tell({.call = RankCall::kSetStepsDone, .number = steps, .loss_scale = now});
  trainer_->set_steps_done(steps);
  trainer_->set_loss_scale(now);
}

void LedTrainer::join(const RunDirectory& run) {
  if (ranks_.control == nullptr) return;
  // Ranks may run in different directories.
  const std::string path = std::filesystem::absolute(run.path()).lexically_normal().string();
  tell({.call = RankCall::kJoin, .name = run.attempt().id + path});
  await_joined(ranks_);
}

CheckpointContent LedTrainer::save_shards(const Directory& checkpoints,
                                          const std::string& name,
                                          const std::function<void(double)>& progress) {
  tell({.call = RankCall::kSaveShards, .name = name});
  return train::save_shards(checkpoints, name, *trainer_, ranks_, progress);
}

void LedTrainer::restore(const Directory& checkpoints, const std::string& name) {
  tell({.call = RankCall::kRestore, .name = name});
  restore_shards(checkpoints, name, *trainer_, ranks_);
}

}  // namespace elixir::train
