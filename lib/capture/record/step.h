// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One training step of a model made ready: module, parameters, buffers and inputs on a device, and
// the rules by which forward's result becomes a loss. Captures and real steps share it.

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

/// bf16 or fp16 where the options ask for it.
[[nodiscard]] std::optional<at::ScalarType> floating_dtype(program::Precision precision);

/// On meta, or in real memory (`load_module`). Errors of `capture`.
[[nodiscard]] Step prepare_step(const Model& model, const Options& options, c10::Device device);

/// The scalar loss out of what forward returned. kNoScalarLoss.
[[nodiscard]] at::Tensor make_loss(const c10::IValue& returned,
                                   const Options& options,
                                   const StepInputs& inputs);

/// Which thread runs backward: this one, or the autograd engine's of the device.
enum class BackwardThread : std::uint8_t { kThis, kEngine };

/// While alive: plain autograd and one stream of operators.
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
