// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A model's training step run for real with LibTorch's autograd on the target's device: what
// predictions are compared with. Parameters are zeros, buffers have their data, inputs are
// `make_inputs`'s.

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "capture/capture.h"

namespace elixir::capture {

class AutogradStep {
 public:
  /// Puts everything on the device. Errors of `capture`; exceptions of LibTorch pass through, here
  /// and in `run`.
  AutogradStep(const Model& model, const Options& options);
  ~AutogradStep();
  AutogradStep(const AutogradStep&) = delete;
  AutogradStep& operator=(const AutogradStep&) = delete;

  /// Each once, in the program's order.
  [[nodiscard]] const std::vector<at::Tensor>& parameters() const;
  /// Forward and backward. Gradients are in the parameters; the loss is returned.
  [[nodiscard]] at::Tensor run();
  /// Sets gradients to none.
  void clear_gradients();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::capture
