// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_setup.h"

namespace elixir::train {

std::int64_t RunInputs::rows_per_step() const {
  return data->rows() * plan.accumulation_steps;
}

std::optional<std::int64_t> RunInputs::tokens_per_step() const {
  const auto tokens_per_row = data->tokens_per_row();
  if (!tokens_per_row) return std::nullopt;
  return *tokens_per_row * rows_per_step();
}

double flops_of_step(const program::Program& program,
                     const program::Lifetimes& lifetimes,
                     int micro_batches) {
  double flops = 0;
  for (const program::Operator& op : program.operators) {
    if (lifetimes.executed[static_cast<std::size_t>(op.id)]) {
      flops += static_cast<double>(op.flops) * micro_batches;
    }
  }
  return flops;
}

}  // namespace elixir::train
