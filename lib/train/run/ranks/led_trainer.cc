// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/ranks/led_trainer.h"

#include <exception>
#include <utility>

namespace elixir::train {

using runtime::StatePart;

LedTrainer::LedTrainer(const RunInputs& inputs,
                       runtime::TrainerOptions options,
                       bool from_checkpoint,
                       const runtime::TensorSource& source)
    : inputs_(inputs), control_(options.ranks.control) {
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
  if (control_ != nullptr) send(command, *control_);
}

void LedTrainer::share(const at::Tensor& value) {
  if (control_ == nullptr) return;
  at::Tensor dense = value.contiguous();
  control_->broadcast(0, dense.mutable_data_ptr(), static_cast<std::int64_t>(dense.nbytes()));
}

runtime::PendingStep LedTrainer::step(std::int64_t number,
                                      const runtime::MicroBatches& batch,
                                      double learning_rate,
                                      const runtime::StepOptions& options) {
  tell({.call = RankCall::kStep,
        .number = number,
        .value = learning_rate,
        .flag = options.time_tasks});
  return trainer_->step(batch, learning_rate, options);
}

runtime::StepReport LedTrainer::report(const runtime::PendingStep& step) {
  tell({.call = RankCall::kWait, .number = step.number()});
  return step.report();
}

void LedTrainer::prepare_evaluation() {
  tell({.call = RankCall::kPrepareEvaluation});
  trainer_->prepare_evaluation(inputs_.held_out->program);
}

double LedTrainer::evaluate(std::int64_t batch, std::int64_t batches) {
  tell({.call = RankCall::kEvaluate, .number = batch, .of = batches});
  const HeldOut& held_out = *inputs_.held_out;
  return trainer_->evaluate(held_out.program, held_out.data->evaluation(batch, batches));
}

at::Tensor LedTrainer::state(const std::string& parameter, StatePart part) {
  tell({.call = RankCall::kState, .part = part, .name = parameter});
  return trainer_->state(parameter, part);
}

void LedTrainer::set_state(const std::string& parameter, StatePart part, const at::Tensor& value) {
  tell({.call = RankCall::kSetState, .part = part, .name = parameter});
  share(value);
  trainer_->set_state(parameter, part, value);
}

void LedTrainer::set_buffer(const std::string& name, const at::Tensor& value) {
  tell({.call = RankCall::kSetBuffer, .name = name});
  share(value);
  trainer_->set_buffer(name, value);
}

void LedTrainer::set_steps_done(std::int64_t steps) {
  tell({.call = RankCall::kSetStepsDone, .number = steps});
  trainer_->set_steps_done(steps);
}

}  // namespace elixir::train
