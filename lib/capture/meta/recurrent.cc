// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of recurrent layers.
#include <map>
#include <vector>

#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/zeros.h>

#include "capture/host_cpu.h"
#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

using program::Target;

/// oneDNN's workspace has its own layout, so this asks the kernel once per shape, on zeros. The
/// size is the same on every instruction set that has the kernel.
std::int64_t workspace_bytes(const Call& call) {
  static std::map<std::vector<std::int64_t>, std::int64_t> known;
  const at::Tensor input = call.tensor("input");
  if (input.scalar_type() == at::kBFloat16 && !program::onednn_computes_in_bf16(host_cpu_isa())) {
    throw Error(ErrorCode::kWrongMachineKind,
                "the workspace of oneDNN's LSTM in bf16 is asked of oneDNN, which does not compute "
                "in bf16 on this machine's CPU")
        .help("capture on a machine with AVX-512, or in fp32");
  }
  std::vector<std::int64_t> key = input.sizes().vec();
  key.push_back(static_cast<std::int64_t>(input.scalar_type()));
  key.push_back(call.integer("hidden_size"));
  auto found = known.find(key);
  if (found == known.end()) {
    const auto zeros = [&](const char* name) {
      const at::Tensor& tensor = call.tensor(name);
      return at::zeros(tensor.sizes(), tensor.options().device(c10::kCPU));
    };
    const at::Tensor workspace = std::get<3>(at::mkldnn_rnn_layer(zeros("input"),
                                                                  zeros("weight0"),
                                                                  zeros("weight1"),
                                                                  zeros("weight2"),
                                                                  zeros("weight3"),
                                                                  zeros("hx_"),
                                                                  zeros("cx_"),
                                                                  call.flag("reverse"),
                                                                  call.integers("batch_sizes"),
                                                                  call.integer("mode"),
                                                                  call.integer("hidden_size"),
                                                                  call.integer("num_layers"),
                                                                  call.flag("has_biases"),
                                                                  call.flag("bidirectional"),
                                                                  call.flag("batch_first"),
                                                                  call.flag("train")));
    found = known.emplace(std::move(key), workspace.numel()).first;
  }
  return found->second;
}

/// oneDNN's kernel does not check its arguments: it reads as much as the sizes of its layer
/// require.
void check_layer(const Call& call) {
  constexpr std::int64_t kLstmMode = 2;
  constexpr std::int64_t kGates = 4;
  constexpr std::int64_t kMostWidth = std::int64_t{1} << 40;
  const at::Tensor input = call.tensor("input");
  const std::int64_t hidden = call.integer("hidden_size");
  check_dim(input, 3, "mkldnn_rnn_layer input");
  TORCH_CHECK(call.integer("mode") == kLstmMode,
              "mkldnn_rnn_layer: unsupported mode ",
              call.integer("mode"));
  TORCH_CHECK(hidden > 0 && hidden < kMostWidth, "hidden_size must be positive, got ", hidden);
  const std::int64_t gates = kGates * hidden;
  const auto check = [&](const char* name, at::IntArrayRef sizes, const char* what) {
    const at::Tensor& tensor = call.tensor(name);
    TORCH_CHECK(tensor.sizes() == sizes,
                "mkldnn_rnn_layer: expected ",
                what,
                " of size ",
                sizes,
                ", got ",
                tensor.sizes());
  };
  check("weight0", {gates, input.size(2)}, "weights of the input");
  check("weight1", {gates, hidden}, "weights of the hidden state");
  for (const char* name : {"weight2", "weight3"}) {
    const at::Tensor& bias = call.tensor(name);
    check_at_least(bias, 1, "mkldnn_rnn_layer bias");
    TORCH_CHECK(bias.size(0) == gates, "mkldnn_rnn_layer: wrong size of a bias");
  }
  for (const char* name : {"hx_", "cx_"}) {
    const at::Tensor& state = call.tensor(name);
    check_at_least(state, 2, "mkldnn_rnn_layer state");
    TORCH_CHECK(state.numel() == product_of(input.size(1), hidden, "a state"),
                "Expected hidden size ",
                input.size(1),
                " by ",
                hidden,
                ", got ",
                state.sizes());
  }
}

Values rnn_layer(const Target&, const Call& call) {
  check_layer(call);
  const at::Tensor input = call.tensor("input");
  return {new_empty({input.size(0), input.size(1), call.integer("hidden_size")}, input),
          contiguous_like(call.tensor("hx_")),
          contiguous_like(call.tensor("cx_")),
          new_empty({call.flag("train") ? workspace_bytes(call) : 0}, input, at::kByte)};
}

/// fp32 also for bf16 (autograd casts back). Bias gradients have one dimension even if the bias is
/// a weight-shaped zero.
Values rnn_layer_backward(const Target&, const Call& call) {
  const auto matrix = [&](const char* name) {
    const at::Tensor& tensor = call.tensor(name);
    check_at_least(tensor, 1, "mkldnn_rnn_layer_backward");
    return new_empty(tensor.sizes(), tensor, at::kFloat);
  };
  const auto bias = [&](const char* name) {
    const at::Tensor& tensor = call.tensor(name);
    check_at_least(tensor, 1, "mkldnn_rnn_layer_backward");
    return new_empty({tensor.size(0)}, tensor, at::kFloat);
  };
  return {matrix("input"),
          matrix("weight1"),
          matrix("weight2"),
          bias("weight3"),
          bias("weight4"),
          matrix("hx_"),
          matrix("cx_tmp")};
}

// CUDA's kernels for the gates of one step. The workspace keeps the gates for the backward pass.

/// checkSizes of cuda/RNN.cu, and the dtype in which the kernel reads all.
void check_gates(const Call& call, const at::Tensor& state, std::int64_t each) {
  const at::Tensor gates = call.tensor("input_gates");
  check_dim(gates, 2, "input_gates");
  check_dim(state, 2, "prev_hidden");
  const at::Tensor hidden = call.tensor("hidden_gates");
  TORCH_CHECK(
      hidden.sizes() == gates.sizes(),
      "Expected tensor for argument #1 'input_gates' to have same size as tensor for argument "
      "#2 'hidden_gates'; but ",
      gates.sizes(),
      " does not equal ",
      hidden.sizes());
  TORCH_CHECK(state.numel() == product_of(gates.size(0), gates.size(1), "gates") / each,
              "Expected tensor for argument #5 'prev_hidden' to have ",
              gates.numel() / each,
              " elements, got ",
              state.numel());
  for (const at::Tensor& tensor : {hidden,
                                   state,
                                   call.tensor_or_undefined("input_bias"),
                                   call.tensor_or_undefined("hidden_bias")}) {
    check_dtype(tensor, gates.scalar_type());
  }
}

Values fused_lstm_cell(const Target&, const Call& call) {
  constexpr std::int64_t kGates = 4;
  const at::Tensor state = call.tensor("cx");
  check_gates(call, state, kGates);
  return {
      contiguous_like(state), contiguous_like(state), contiguous_like(call.tensor("input_gates"))};
}
Values fused_lstm_cell_backward(const Target&, const Call& call) {
  const at::Tensor gates = call.tensor("workspace");
  return {contiguous_like(gates),
          contiguous_like(call.tensor("cx")),
          call.flag("has_bias") ? new_empty({gates.size(1)}, gates) : at::Tensor()};
}

Values fused_gru_cell(const Target&, const Call& call) {
  constexpr std::int64_t kGates = 3;
  constexpr std::int64_t kKept = 5;
  const at::Tensor state = call.tensor("hx");
  check_gates(call, state, kGates);
  return {contiguous_like(state),
          new_empty({state.size(0), product_of(state.size(1), kKept, "gates")}, state)};
}
Values fused_gru_cell_backward(const Target&, const Call& call) {
  constexpr std::int64_t kGates = 3;
  const at::Tensor gradient = call.tensor("grad_hy");
  const std::int64_t width = gradient.size(1) * kGates;
  const auto gates = [&] { return new_empty({gradient.size(0), width}, gradient); };
  const auto bias = [&] {
    return call.flag("has_bias") ? new_empty({width}, gradient) : at::Tensor();
  };
  return {gates(), gates(), contiguous_like(gradient), bias(), bias()};
}

}  // namespace

const Rules kRecurrentRules = {
    {"aten::_thnn_fused_gru_cell", &fused_gru_cell},
    {"aten::_thnn_fused_gru_cell_backward", &fused_gru_cell_backward},
    {"aten::_thnn_fused_lstm_cell", &fused_lstm_cell},
    {"aten::_thnn_fused_lstm_cell_backward_impl", &fused_lstm_cell_backward},
    {"aten::mkldnn_rnn_layer", &rnn_layer},
    {"aten::mkldnn_rnn_layer_backward", &rnn_layer_backward},
};

}  // namespace elixir::capture
