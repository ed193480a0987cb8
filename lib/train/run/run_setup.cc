// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_setup.h"

#include <algorithm>
#include <cstdlib>

#include <ATen/Parallel.h>

namespace elixir::train {

std::int64_t RunInputs::rows_per_step() const {
  return data->rows() * plan.accumulation_steps * plan.world;
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

runtime::TrainerOptions trainer_options(const RunInputs& inputs, const RunOptions& options) {
  runtime::TrainerOptions wanted;
  wanted.device = inputs.device;
  wanted.optimizer = options.optimizer;
  wanted.loss_scale = options.loss_scale;
  wanted.seed = options.seed;
  wanted.deterministic = options.deterministic;
  wanted.ranks = options.ranks;
  if (std::getenv(kCpuLanesVariable) != nullptr) {
    wanted.cpu_order = {runtime::CpuOrder::Kind::kLanes};
  }
  // The ranks of a machine share its cores.
  const int sharing = inputs.plan.ranks_per_node;
  if (inputs.plan.world > 1) wanted.cpu_threads = std::max(1, at::get_num_threads() / sharing);
  if (options.cpu_threads > 0) wanted.cpu_threads = options.cpu_threads;
  return wanted;
}

runtime::MicroBatches batch_of_step(const RunInputs& inputs,
                                    const RunOptions& options,
                                    std::int64_t step) {
  const int count = inputs.plan.accumulation_steps;
  runtime::MicroBatches batch;
  for (int micro = 0; micro < count; ++micro) {
    batch.push_back(
        inputs.data->training(options.seed, step, options.ranks.rank() * count + micro));
  }
  return batch;
}

}  // namespace elixir::train
