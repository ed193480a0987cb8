// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What an optimizer's update asks of the allocator besides its state: temporaries of AdamW, Adam,
// Adafactor, RMSprop and Adagrad in torch.optim. Elixir's kernels and the fused ones ask for
// nothing, and neither does SGD.
//
// Source: torch/optim/adam.py, sgd.py, rmsprop.py and adagrad.py of PyTorch 2.11, for their default
// arguments (no amsgrad, not centered, not capturable; but for AdamW without weight decay). The
// test `torch-optimizer` compares these requests with what torch.optim asks for on the CPU.
// Recorded on an H100 and an H200, in fp32 and bf16: AdamW and SGD with momentum, every form;
// Adafactor, RMSprop, Adagrad; clipping (docs/accuracy.md). AdamW is Adam there with another
// default, and SGD without momentum is less of the same.

#include "operators/scratch/call_script.h"
#include "program/program.h"

namespace elixir::memory {

/// The scripts of one step. Both make only temporaries, and release all of them.
struct OptimizerUpdate {
  operators::CallScript clipping;  ///< comes first; empty without
  operators::CallScript update;
};
/// A script is modelled if nobody recorded the update: on a GPU that was not recorded, or with
/// parameters of a dtype other than fp32 and bf16, or of several dtypes (PyTorch takes them in the
/// order of a hash table).
[[nodiscard]] OptimizerUpdate optimizer_update(const program::Program& program,
                                               program::OptimizerUse use);

/// Throws kConflictingFlags for an update that torch.optim refuses to run: of complex parameters by
/// Adafactor, or in the fused form.
void require_possible_update(const program::Program& program, program::OptimizerUse use);

}  // namespace elixir::memory
