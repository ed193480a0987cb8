// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer's state for checkpoints and exports: parameters (once each, even with several names),
// buffers that a state_dict has or that the step writes, and for trained parameters the moments and
// the master, unless the master equals the parameter (fp32). These are the same tensors for every
// plan of a program.

#include <cstdint>
#include <vector>

#include "runtime/trainer.h"
#include "train/run/checkpoint.h"
#include "train/run/ranks/led_trainer.h"
#include "train/run/shards/state_shard.h"

namespace elixir::train {

/// Whole tensors, to read. `trainer` must outlive the result.
[[nodiscard]] TrainingState training_state_of(LedTrainer& trainer);

enum class Buffers : std::uint8_t { kPersistent, kAll };
/// The parameters and buffers of the model, likewise.
[[nodiscard]] std::vector<StateTensor> model_tensors(LedTrainer& trainer, Buffers wanted);

/// What this rank holds of each, in an order in which they can be restored. `trainer` must outlive
/// the result, and have no step under way.
[[nodiscard]] std::vector<StateShard> shards_of(runtime::Trainer& trainer, int rank);

/// The same tensors without a trainer: names, dtypes and shapes alone.
[[nodiscard]] std::vector<StateShard> described_state(const program::Program& program,
                                                      const plan::Plan& plan);

/// `source` without the tensors that a checkpoint of `program` holds: they become undefined,
/// because restore_checkpoint() sets them. So a resumed run does not initialise weights.
[[nodiscard]] runtime::TensorSource without_checkpointed(const program::Program& program,
                                                         runtime::TensorSource source);

}  // namespace elixir::train
