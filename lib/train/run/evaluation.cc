// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/evaluation.h"

#include "core/interrupt.h"

namespace elixir::train {

std::optional<double> evaluate(LedTrainer& trainer,
                               const HeldOut& held_out,
                               std::int64_t most_batches) {
  const std::int64_t batches = held_out.data->evaluation_batches(most_batches);
  double sum = 0, labels = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (interrupted()) return std::nullopt;
    const LedTrainer::BatchLoss result = trainer.evaluate(batch, batches);
    if (result.labels == 0) continue;  // its loss is 0 / 0
    sum += result.labels * result.loss;
    labels += result.labels;
  }
  return sum / labels;
}

}  // namespace elixir::train
