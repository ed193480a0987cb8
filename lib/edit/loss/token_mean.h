// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A loss that is one mean over labels, so that a micro-batch can count by its labels.
//
// With `ignore_index` or class weights, micro-batches have means over different numbers of labels.
// Their mean is not the mean over the step's labels. So the trainer gives a micro-batch the loss
// gradient (loss_gradient.h) n c / C, with n micro-batches on all ranks, c what nll_loss divides by
// here, and C the sum of all c. The division by n stays, so that equal numbers of labels give the
// same bits as without the edit. As in transformers from 4.46 on
// (https://huggingface.co/blog/gradient_accumulation).

#include <optional>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

struct TokenMean {
  program::OperatorId loss = -1;  ///< aten::nll_loss_forward or nll_loss2d_forward, of the mean
  /// In order: they make the loss's labels and class weights from inputs, constants and buffers
  /// that no step changes. The host runs them before the step.
  std::vector<program::OperatorId> makes_labels;
};

/// nullopt where the loss of `program` is anything but this mean, through views and casts alone, or
/// its labels depend on more than inputs.
[[nodiscard]] std::optional<TokenMean> find_token_mean(const program::Program& program);

/// The program of `mean.makes_labels` alone, for a CPU.
[[nodiscard]] program::Program labels_program(const program::Program& program,
                                              const TokenMean& mean);

}  // namespace elixir::edit
