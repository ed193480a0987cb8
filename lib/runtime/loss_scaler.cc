// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/loss_scaler.h"

#include <algorithm>

namespace elixir::runtime {

LossScaler::LossScaler(const LossScaleOptions& options)
    : options_(options), state_{.scale = options.initial} {}

void LossScaler::made() {
  ++state_.good_steps;
  if (options_.interval == 0 || state_.good_steps < options_.interval) return;
  state_.scale = std::min(state_.scale * options_.growth, kLargestLossScale);
  state_.good_steps = state_.overflows = 0;
}

void LossScaler::skipped() {
  ++state_.skipped_steps;
  state_.good_steps = 0;
  if (++state_.overflows < options_.hysteresis) return;
  state_.scale = std::max(state_.scale * options_.backoff, options_.minimum);
}

}  // namespace elixir::runtime
