// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// cuDNN's recurrent layers. Source: ATen/native/cudnn/RNN.cpp.
#include <cstdint>
#include <utility>

#include "operators/cudnn_rnn.h"
#include "operators/scratch/rules/rules.h"

namespace elixir::operators {
namespace {

/// The layers of a forward or backward call.
CudnnRnn layers_of(const ScriptBuilder& script, const program::TensorRef& input) {
  CudnnRnn rnn;
  rnn.mode = static_cast<CudnnRnn::Mode>(script.integer("mode", 2));
  rnn.dtype = input.dtype;
  rnn.hidden_width = script.integer("hidden_size", 0);
  rnn.projection_width = script.integer("proj_size", 0);
  rnn.layers = script.integer("num_layers", 1);
  rnn.directions = script.flag("bidirectional") ? 2 : 1;
  rnn.has_dropout = script.number("dropout", 0) > 0;
  const std::size_t sequences = script.flag("batch_first") ? 0 : 1;
  rnn.batch = input.sizes.at(sequences);
  rnn.steps = input.sizes.at(1 - sequences);
  rnn.input_width = input.sizes.at(2);
  return rnn;
}

/// The code below loops over the layers, and a document may contain any number.
bool has_plausible_layers(const CudnnRnn& rnn) {
  constexpr std::int64_t kMost = 1 << 20;
  return rnn.layers > 0 && rnn.layers <= kMost;
}

/// Scratch memory for a copy with the steps first in memory. None if the tensor already has that
/// order.
int steps_first(ScriptBuilder& script, program::TensorRef tensor) {
  if (script.flag("batch_first")) {
    std::swap(tensor.sizes.at(0), tensor.sizes.at(1));
    std::swap(tensor.strides.at(0), tensor.strides.at(1));
  }
  return is_contiguous(tensor) ? -1 : script.temporary(tensor.bytes());
}

void note_source(ScriptBuilder& script, const CudnnRnn& rnn) {
  if (rnn.is_exact()) {
    script.measured();
  } else {
    script.modelled();
  }
}

/// Allocates output, states, packed weights (the last result), workspace, reserve space.
void cudnn_rnn(ScriptBuilder& script) {
  const auto* input = script.tensor("input");
  if (input == nullptr || input->sizes.size() != 3) return;
  const CudnnRnn rnn = layers_of(script, *input);
  if (!has_plausible_layers(rnn)) return;
  const bool training = script.flag("train");
  note_source(script, rnn);
  steps_first(script, *input);
  const std::size_t count = script.output_count();
  const std::size_t reserve = count - (training ? 2 : 1);
  for (std::size_t i = 0; i < count; ++i) {
    if (!training || i != reserve) script.output(i);
  }
  const auto pass = training ? CudnnRnn::Pass::kForward : CudnnRnn::Pass::kInference;
  const int workspace = script.temporary(rnn.workspace_bytes(pass));
  script.outputs();
  script.release(workspace);
}

/// Zeros for missing gradients. Then the gradients of the inputs and of the weights, each with its
/// own copies and workspace.
void cudnn_rnn_backward(ScriptBuilder& script) {
  constexpr std::size_t kInputGradients = 3;
  const auto* input = script.tensor("input");
  const auto* hidden = script.tensor("hx");
  const auto* memory = script.tensor("cx");
  const auto* output = script.tensor("output");
  const auto* gradient = script.tensor("grad_output");
  if (input == nullptr || input->sizes.size() != 3 || hidden == nullptr || output == nullptr)
    return;
  const CudnnRnn rnn = layers_of(script, *input);
  if (!has_plausible_layers(rnn)) return;
  note_source(script, rnn);
  const std::int64_t workspace_bytes = rnn.workspace_bytes(CudnnRnn::Pass::kBackward);
  const auto zeros_unless = [&](const program::TensorRef* given, const program::TensorRef* like) {
    if (given == nullptr && like != nullptr) script.temporary(like->bytes());
  };
  zeros_unless(gradient, output);
  zeros_unless(script.tensor("grad_hy"), hidden);
  zeros_unless(script.tensor("grad_cy"), memory);
  const int of_input = steps_first(script, *input);
  const int of_gradient = gradient != nullptr ? steps_first(script, *gradient) : -1;
  const std::size_t inputs = memory != nullptr ? kInputGradients : kInputGradients - 1;
  for (std::size_t i = 0; i < inputs; ++i) script.output(i);
  script.release(script.temporary(workspace_bytes));
  script.release(of_gradient);
  script.release(of_input);
  if (script.output_count() == inputs) return;  // the weights are frozen
  const int again = steps_first(script, *input);
  // Without biases, the gradients are copied out of the packed gradients.
  const bool packed = script.output_count() == inputs + 1;
  const int sums =
      packed ? -1 : script.temporary(rnn.weight_elements() * program::element_bytes(rnn.dtype));
  if (packed) script.outputs();
  const int workspace = script.temporary(workspace_bytes);
  script.outputs();
  script.release(workspace);
  script.release(sums);
  script.release(again);
}

}  // namespace

const std::vector<ScriptRule> kRecurrentScripts = {
    {"aten::_cudnn_rnn", &cudnn_rnn, ScriptRuleKind::kMeasured},
    {"aten::_cudnn_rnn_backward", &cudnn_rnn_backward, ScriptRuleKind::kMeasured},
};

}  // namespace elixir::operators
