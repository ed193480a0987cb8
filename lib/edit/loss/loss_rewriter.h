// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes the program with fused losses, once fused_loss.cc has found their operators.

#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::edit {

/// The operators of one loss, and what they work on.
struct LossOperators {
  program::OperatorId conversion = -1;  ///< of the logits to fp32; -1: none
  program::OperatorId log_softmax = -1, loss = -1, loss_backward = -1, log_softmax_backward = -1;
  program::OperatorId conversion_back = -1;    ///< of the gradient; -1: none
  std::vector<program::OperatorId> smoothing;  ///< operators that label smoothing added
  double label_smoothing = 0;
  program::TensorRef value;           ///< the loss, or the rows' losses
  program::TensorRef value_gradient;  ///< what backward starts from
  program::TensorRef logits;    ///< (rows, classes), dense; its storage is free after the loss
  program::TensorRef gradient;  ///< of the logits, dense; takes their place
};

/// The program with `losses` fused, without the storages that this makes needless. Operators and
/// storages get new ids.
[[nodiscard]] program::Program rewrite_losses(const program::Program& program,
                                              const program::Lifetimes& lifetimes,
                                              const std::vector<LossOperators>& losses);

}  // namespace elixir::edit
