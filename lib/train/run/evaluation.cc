// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/evaluation.h"

#include "core/interrupt.h"

namespace elixir::train {

std::optional<double> evaluate(LedTrainer& trainer,
                               const HeldOut& held_out,
                               std::int64_t most_batches) {
  const std::int64_t batches = held_out.data->evaluation_batches(most_batches);
  double sum = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (interrupted()) return std::nullopt;
    sum += trainer.evaluate(batch, batches);
  }
  return sum / static_cast<double>(batches);
}

}  // namespace elixir::train
