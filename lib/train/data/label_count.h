// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How many labels the loss of a micro-batch is a mean over: what nll_loss divides by, labels that
// are not ignored, each by its class's weight. Counted on the host before the step, from the inputs
// (edit/loss/token_mean.h).

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"
#include "edit/loss/token_mean.h"
#include "program/program.h"
#include "replay/replay_call.h"

namespace elixir::train {

class LabelCount {
 public:
  /// `buffer` gives the value of a buffer that no step changes. nullopt: the loss of the program is
  /// no mean over labels of the inputs.
  static std::optional<LabelCount> of(const capture::Captured& captured,
                                      const std::function<at::Tensor(const std::string&)>& buffer);

  /// The labels of one micro-batch, which is CPU tensors in Program::inputs order. 0 when all are
  /// ignored.
  [[nodiscard]] double count(const std::vector<at::Tensor>& inputs);

 private:
  LabelCount(program::Program labels, const program::Operator& loss);
  [[nodiscard]] double count_labels() const;

  program::Program labels_;  ///< makes target and weights
  std::vector<replay::ReplayCall> calls_;
  std::vector<std::size_t> inputs_;  ///< those that it needs, by position
  replay::StorageTable known_;       ///< constants and buffers that it needs
  replay::StorageTable storages_;    ///< of the micro-batch that is counted
  program::TensorRef target_;
  std::optional<program::TensorRef> weights_;
  std::int64_t ignored_ = -100;
};

}  // namespace elixir::train
