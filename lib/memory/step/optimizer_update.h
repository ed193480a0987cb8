// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What an optimizer's update asks of the allocator besides its state: temporaries of AdamW, Adam and Adafactor
// in torch.optim. Elixir's kernels and the fused ones ask for nothing, and neither does SGD.
//
// Source: torch/optim/adam.py and sgd.py of PyTorch 2.11, for their default arguments (no amsgrad, not
// capturable; of Adam and SGD without weight decay). The test `torch-optimizer` compares these requests with those of
// torch.optim on the CPU. Recorded on an H100: AdamW and SGD with momentum, every form (docs/accuracy.md).

#include "operators/scratch/call_script.h"
#include "program/program.h"

namespace elixir::memory {

/// Of one step. Both have temporaries alone, and release all of them.
struct OptimizerUpdate {
  operators::CallScript clipping;  ///< comes first; empty without
  operators::CallScript update;
};
/// A script is modelled where parameters have several dtypes: nobody recorded such an update, and PyTorch takes dtypes in the
/// order of a hash table.
[[nodiscard]] OptimizerUpdate optimizer_update(const program::Program& program,
                                               program::OptimizerUse use);

}  // namespace elixir::memory
