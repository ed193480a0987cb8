// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/pending_step.h"

namespace elixir::runtime {

double weighted_mean(const float* losses, const double* weights, std::size_t count) {
  double sum = 0, all = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (weights[i] == 0) continue;  // its loss is 0 / 0
    sum += weights[i] * losses[i];
    all += weights[i];
  }
  return all == 0 ? 0 : sum / all;
}

double PendingStep::loss() const {
  if (outcome_->failure) std::rethrow_exception(outcome_->failure);
  if (outcome_->report) return outcome_->own_loss;
  const std::vector<float> losses = outcome_->wait_for_losses();
  return weighted_mean(
      losses.data(), outcome_->weights.data() + outcome_->first_own, losses.size());
}

void PendingStep::wait() const {
  if (!outcome_->report && !outcome_->failure) outcome_->settle();
  if (outcome_->failure) std::rethrow_exception(outcome_->failure);
}

StepReport PendingStep::report() const {
  wait();
  return *outcome_->report;
}

}  // namespace elixir::runtime
