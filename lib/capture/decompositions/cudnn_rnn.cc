// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Recurrent layers on CUDA, from ATen/native/cudnn/RNN.cpp. The weights are packed at every call.
// LibTorch would use parameters in place if they already form one block in cuDNN's order, but a
// TorchScript file never contains such parameters. The state of the dropout belongs to the process:
// the first call creates it, and it is not part of the program.
#include <optional>

#include <ATen/ops/_cudnn_rnn.h>

#include "capture/decompositions/decompositions.h"
#include "operators/cudnn_rnn.h"

namespace elixir::capture {
namespace {

using program::Target;
using Mode = operators::CudnnRnn::Mode;

struct CudnnResult {
  at::Tensor output, hidden, memory;
};

CudnnResult call_cudnn(Mode mode,
                       const Call& call,
                       const at::Tensor& hidden,
                       const std::optional<at::Tensor>& memory) {
  const bool projects = memory && memory->size(2) != hidden.size(2);
  const std::int64_t weights_each = (call.flag("has_biases") ? 4 : 2) + (projects ? 1 : 0);
  const auto [output, last_hidden, last_memory, reserve, weights] =
      at::_cudnn_rnn(call.tensor("input"),
                     call.tensors("params"),
                     weights_each,
                     /*weight_buf=*/std::nullopt,
                     hidden,
                     memory,
                     static_cast<std::int64_t>(mode),
                     projects ? memory->size(2) : hidden.size(2),
                     projects ? hidden.size(2) : 0,
                     call.integer("num_layers"),
                     call.flag("batch_first"),
                     call.number("dropout"),
                     call.flag("train"),
                     call.flag("bidirectional"),
                     /*batch_sizes=*/{},
                     /*dropout_state=*/std::nullopt);
  return {output, last_hidden, last_memory};
}

Values with_one_state(Mode mode, const Call& call) {
  const CudnnResult result = call_cudnn(mode, call, call.tensor("hx"), std::nullopt);
  return {result.output, result.hidden};
}

}  // namespace

// at::cudnn_is_acceptable
bool takes_cudnn_rnn(const Target& target, const Call& call) {
  constexpr int kAmpere = 80;
  const at::Tensor input = call.tensor("input");
  const at::ScalarType dtype = input.scalar_type();
  return input.numel() != 0 && (dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf ||
                                (dtype == at::kBFloat16 && target.sm >= kAmpere));
}

Values call_cudnn_lstm(const Target&, const Call& call) {
  const std::vector<at::Tensor> state = lstm_states(call);
  const CudnnResult result = call_cudnn(Mode::kLstm, call, state.at(0), state.at(1));
  return {result.output, result.hidden, result.memory};
}
Values call_cudnn_gru(const Target&, const Call& call) {
  return with_one_state(Mode::kGru, call);
}
Values call_cudnn_tanh(const Target&, const Call& call) {
  return with_one_state(Mode::kTanh, call);
}
Values call_cudnn_relu(const Target&, const Call& call) {
  return with_one_state(Mode::kRelu, call);
}

}  // namespace elixir::capture
