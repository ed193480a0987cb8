// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/autograd_step.h"

#include <utility>

#include "capture/record/arguments/values.h"
#include "capture/record/step.h"

namespace elixir::capture {

struct AutogradStep::State {
  Options options;
  Step step;
  std::vector<at::Tensor> parameters;
};

AutogradStep::AutogradStep(const Model& model, const Options& options)
    : state_(std::make_unique<State>()) {
  state_->options = options;
  state_->step = prepare_step(model, options, device_of(options.target));
  for (const LoadedTensor& parameter : state_->step.loaded.parameters) {
    state_->parameters.push_back(parameter.tensor);
  }
}

AutogradStep::~AutogradStep() = default;

const std::vector<at::Tensor>& AutogradStep::parameters() const {
  return state_->parameters;
}

at::Tensor AutogradStep::run() {
  const PlainExecution plain(/*gradients=*/true, BackwardThread::kEngine);
  at::Tensor loss = make_loss(state_->step.loaded.module.forward(state_->step.inputs.arguments),
                              state_->options,
                              state_->step);
  loss.backward();
  return loss;
}

void AutogradStep::clear_gradients() {
  for (at::Tensor& parameter : state_->parameters) parameter.mutable_grad().reset();
}

}  // namespace elixir::capture
