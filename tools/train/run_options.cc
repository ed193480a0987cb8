// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/run_options.h"

#include <cstdint>

#include "tools/train/loss_scale_flag.h"

namespace elixir::tools {

train::RunOptions run_options(const TrainOptions& options,
                              const runtime::Ranks& ranks,
                              const Context& context) {
  train::RunOptions wanted;
  wanted.steps = options.steps;
  wanted.learning_rate = {
      *train::schedule_named(options.lr_schedule), options.lr, options.warmup_steps, options.steps};
  wanted.optimizer = {options.betas[0],
                      options.betas[1],
                      options.eps,
                      options.weight_decay,
                      options.no_decay,
                      options.clip_norm};
  wanted.loss_scale = parse_loss_scale(options.loss_scale);
  wanted.seed = static_cast<std::uint64_t>(options.seed);
  wanted.deterministic = options.deterministic;
  wanted.checkpoints = {options.checkpoint_every, static_cast<int>(options.keep)};
  wanted.evaluate_every = options.eval_every;
  wanted.evaluation_batches = options.eval_batches;
  wanted.ranks = ranks;
  wanted.tool = "elixir-train";
  wanted.argv = context.argv();
  return wanted;
}

}  // namespace elixir::tools
