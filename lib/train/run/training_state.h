// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The trainer's state as a checkpoint and an export see it: named tensors that can be read and
// written.

#include "runtime/trainer.h"
#include "train/run/checkpoint.h"

namespace elixir::train {

/// `trainer` must outlive the result. Parameters (once, however many names they have), mutated
/// buffers, and for trained parameters the moments and, unless it equals the parameter (fp32), the
/// master: the same tensors for every plan of a program.
[[nodiscard]] TrainingState training_state_of(runtime::Trainer& trainer);

/// `source` without what a checkpoint of `program` holds: parameters and mutated buffers are
/// undefined, because restore_checkpoint() sets them. So a resumed run initialises no weights.
[[nodiscard]] runtime::TensorSource without_checkpointed(const program::Program& program,
                                                         runtime::TensorSource source);

}  // namespace elixir::train
