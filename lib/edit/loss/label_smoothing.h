// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds what label smoothing adds to a captured cross entropy (fused_loss.cc).

#include <string>
#include <vector>

#include "edit/dataflow.h"

namespace elixir::edit {

struct LabelSmoothing {
  double amount = 0;
  std::vector<program::OperatorId> operators;  ///< all that it added, in no order
  program::TensorRef loss;                     ///< with smoothed labels
  program::TensorRef loss_gradient;
  program::TensorRef log_softmax_gradient;  ///< of both parts
};

/// Matches what LibTorch makes of label_smoothing= around `loss` (aten::nll_loss_forward) and
/// `loss_backward`. `first` is the operator that uses the log-softmax beside them. Returns why it
/// does not match; empty when it does.
[[nodiscard]] std::string match_label_smoothing(const Dataflow& flow,
                                                const program::Operator& loss,
                                                const program::Operator& loss_backward,
                                                const program::Operator& first,
                                                LabelSmoothing& found);

}  // namespace elixir::edit
