// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/run/run_checkpoints.h"

#include <string>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "core/json.h"
#include "train/run/training_state.h"

namespace elixir::train {

RunCheckpoints::RunCheckpoints(const RunDirectory& directory,
                               const RunInputs& inputs,
                               const RunOptions& options,
                               std::optional<std::int64_t> newest_step)
    : directory_(directory), inputs_(inputs), options_(options), newest_step_(newest_step) {}

bool RunCheckpoints::due_after(std::int64_t step) const {
  const std::int64_t every = options_.checkpoints.every.value_or(0);
  return every > 0 && step % every == 0;
}

bool RunCheckpoints::due_at_end(bool all_steps_done) const {
  return !all_steps_done || options_.checkpoints.every != 0;
}

void RunCheckpoints::write(LedTrainer& trainer, const std::function<void(double)>& progress) {
  if (newest_step_ == trainer.steps_done()) return;
  directory_.check_present();
  CheckpointInfo info;
  info.run_id = directory_.run_id();
  info.attempt = directory_.attempt();
  info.step = trainer.steps_done();
  info.program_fingerprint = inputs_.fingerprint;
  info.device = inputs_.device;
  info.cpu_threads = at::get_num_threads();
  info.seed = options_.seed;
  info.learning_rate = options_.learning_rate;
  info.loss_scale = trainer.loss_scale();
  info.data_format = name_of(inputs_.data_format);
  info.rows_per_step = inputs_.rows_per_step();
  const TrainingState whole = training_state_of(trainer);
  const ContentWriter shards = [&](const UnfinishedDirectory& unfinished) {
    return trainer.save_shards(directory_.checkpoints(), unfinished.name(), progress);
  };
  write_checkpoint(directory_.checkpoints(),
                   info,
                   trainer.plan().world == 1 ? whole_tensors(whole, progress) : shards,
                   options_.checkpoints.keep,
                   make_meta(options_.tool, options_.argv));
  newest_step_ = info.step;
}

void RunCheckpoints::note_newest(Error& error) const {
  const Directory& checkpoints = directory_.checkpoints();
  if (!newest_step_ || !checkpoints.is_in_place()) return;
  error.note(
      fmt::format("the checkpoint of step {} stays in {}", *newest_step_, checkpoints.path()));
}

}  // namespace elixir::train
