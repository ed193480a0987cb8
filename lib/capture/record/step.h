// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Prepares one training step of a model: module, parameters, buffers and inputs on a device, and
// the rules that turn forward's result into a loss. Captures and real steps share this code.

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "capture/archive/inputs.h"
#include "capture/archive/loaded_module.h"
#include "capture/capture.h"

namespace elixir::capture {

/// Parameters, buffers and inputs of one step, in the module.
struct Step {
  LoadedModule loaded;
  StepInputs inputs;
  std::vector<std::string> warnings;
};

/// The dtype for precision bf16 or fp16; nullopt for others.
[[nodiscard]] std::optional<at::ScalarType> floating_dtype(program::Precision precision);

/// On meta, or in real memory (`load_module`). Throws the errors of `capture`.
[[nodiscard]] Step prepare_step(const Model& model, const Options& options, c10::Device device);

/// The scalar loss from forward's result. Throws kNoScalarLoss.
[[nodiscard]] at::Tensor make_loss(const c10::IValue& returned,
                                   const Options& options,
                                   const Step& step);

/// The thread that runs backward: this one, or the autograd engine's thread of the device.
enum class BackwardThread : std::uint8_t { kThis, kEngine };

/// While it lives: plain autograd, and one stream of operators.
class PlainExecution {
 public:
  PlainExecution(bool gradients, BackwardThread thread);
  ~PlainExecution();
  PlainExecution(const PlainExecution&) = delete;
  PlainExecution& operator=(const PlainExecution&) = delete;

 private:
  c10::AutogradState saved_ = c10::AutogradState::get_tls_state();
  c10::AutoGradMode gradients_;
  torch::jit::GraphOptimizerEnabledGuard plain_graphs_{false};
};

}  // namespace elixir::capture
