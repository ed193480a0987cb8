// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs a model's training step for real, with LibTorch's autograd on the target's device, to
// compare predictions with it. Parameters are zeros, buffers have their data, inputs come from
// `make_inputs`.

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"

namespace elixir::capture {

class AutogradStep {
 public:
  /// Puts everything on the device. Throws the errors of `capture`. Exceptions of LibTorch pass
  /// through, here and in `run`.
  AutogradStep(const Model& model, const Options& options);
  ~AutogradStep();
  AutogradStep(const AutogradStep&) = delete;
  AutogradStep& operator=(const AutogradStep&) = delete;

  /// Each parameter once, in the program's order.
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const;
  /// Runs forward and backward, returns the loss, and leaves the gradients in the parameters.
  [[nodiscard]] at::Tensor run();
  /// Sets gradients to none.
  void clear_gradients();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::capture
