// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The edit that fuses a model's loss: cross entropy over classes, from the logits to their
// gradient. Captured, it makes the logits once more in fp32, their log-softmax, and two gradients
// of that size. Fused, forward keeps the logits as they are, with three numbers per row, and
// backward turns the logits into their gradient in place (kernels/cross_entropy.h). The results
// differ from the captured program's in the last bits, so this is the arithmetic `fused`.
//
// Recognised: aten::_log_softmax over the last of two dimensions and aten::nll_loss_forward (any
// reduction, ignore_index and class weights), with or without a conversion of 16-bit logits to fp32
// before, with or without label smoothing. Hugging Face's shifted loss and
// torch.nn.functional.cross_entropy become that. Without reduction the rows' losses stay a tensor,
// and whatever is made of them, a masked mean for instance, stays as captured. Not recognised:
// targets that are probabilities, classes in another dimension than the last.

#include <string>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

struct FusedLoss {
  program::Program program;  ///< with the lifetimes of a replay
  int fused = 0;             ///< losses that were fused; 0: `program` is the captured one
  /// Why losses stayed as captured, one sentence each: "operator 12 (aten::mul) reads the
  /// log-softmax too".
  std::vector<std::string> kept;
};

/// Fuses every loss of `program` that is recognised.
[[nodiscard]] FusedLoss fuse_loss(const program::Program& program);

}  // namespace elixir::edit
