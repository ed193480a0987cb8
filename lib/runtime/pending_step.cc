// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/pending_step.h"

#include <numeric>

namespace elixir::runtime {

double PendingStep::loss() const {
  if (outcome_->failure) std::rethrow_exception(outcome_->failure);
  if (outcome_->report) return outcome_->own_loss;
  const std::vector<float> losses = outcome_->wait_for_losses();
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
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
