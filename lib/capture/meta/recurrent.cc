// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of recurrent layers.
#include <map>
#include <vector>

#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/zeros.h>

#include "capture/meta/checks.h"
#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

// input (T, N, F), weight0..3, hx, cx, reverse, batch_sizes, mode, hidden_size, num_layers,
// has_biases, bidirectional, batch_first, train
constexpr std::size_t kHidden = 10;
constexpr std::size_t kTrain = 15;

/// oneDNN's workspace has a layout of its own: ask the kernel once for each shape, on zeros.
std::int64_t workspace_bytes(const Values& a) {
  static std::map<std::vector<std::int64_t>, std::int64_t> known;
  const at::Tensor input = a[0].toTensor();
  std::vector<std::int64_t> key = input.sizes().vec();
  key.push_back(static_cast<std::int64_t>(input.scalar_type()));
  key.push_back(a[kHidden].toInt());
  const auto [found, fresh] = known.try_emplace(key);
  if (fresh) {
    const auto zeros = [&](std::size_t i) {
      const at::Tensor tensor = a[i].toTensor();
      return at::zeros(tensor.sizes(), tensor.options().device(c10::kCPU));
    };
    found->second = std::get<3>(at::mkldnn_rnn_layer(zeros(0),
                                                     zeros(1),
                                                     zeros(2),
                                                     zeros(3),
                                                     zeros(4),
                                                     zeros(5),
                                                     zeros(6),
                                                     a[7].toBool(),
                                                     a[8].toIntVector(),
                                                     a[9].toInt(),
                                                     a[kHidden].toInt(),
                                                     a[11].toInt(),
                                                     a[12].toBool(),
                                                     a[13].toBool(),
                                                     a[14].toBool(),
                                                     a[kTrain].toBool()))
                        .numel();
  }
  return found->second;
}

/// oneDNN's kernel reads as much as the sizes of its layer say, of whatever it is given.
void check_layer(const Values& a) {
  constexpr std::int64_t kLstmMode = 2;
  constexpr std::int64_t kGates = 4;
  constexpr std::int64_t kMostWidth = std::int64_t{1} << 40;
  const at::Tensor input = a[0].toTensor();
  const std::int64_t hidden = a[kHidden].toInt();
  check_dim(input, 3, "mkldnn_rnn_layer input");
  TORCH_CHECK(a[9].toInt() == kLstmMode, "mkldnn_rnn_layer: unsupported mode ", a[9].toInt());
  TORCH_CHECK(hidden > 0 && hidden < kMostWidth, "hidden_size must be positive, got ", hidden);
  const std::int64_t gates = kGates * hidden;
  const auto check = [&](std::size_t i, at::IntArrayRef sizes, const char* what) {
    TORCH_CHECK(a[i].toTensor().sizes() == sizes,
                "mkldnn_rnn_layer: expected ",
                what,
                " of size ",
                sizes,
                ", got ",
                a[i].toTensor().sizes());
  };
  check(1, {gates, input.size(2)}, "weights of the input");
  check(2, {gates, hidden}, "weights of the hidden state");
  for (const std::size_t bias : {3, 4}) {
    check_at_least(a[bias].toTensor(), 1, "mkldnn_rnn_layer bias");
    TORCH_CHECK(a[bias].toTensor().size(0) == gates, "mkldnn_rnn_layer: wrong size of a bias");
  }
  for (const std::size_t state : {5, 6}) {
    check_at_least(a[state].toTensor(), 2, "mkldnn_rnn_layer state");
    TORCH_CHECK(a[state].toTensor().numel() == product_of(input.size(1), hidden, "a state"),
                "Expected hidden size ",
                input.size(1),
                " by ",
                hidden,
                ", got ",
                a[state].toTensor().sizes());
  }
}

Values rnn_layer(const Target&, const Values& a) {
  check_layer(a);
  const at::Tensor input = a[0].toTensor();
  return {new_empty({input.size(0), input.size(1), a[kHidden].toInt()}, input),
          contiguous_like(a[5].toTensor()),
          contiguous_like(a[6].toTensor()),
          new_empty({a[kTrain].toBool() ? workspace_bytes(a) : 0}, input, at::kByte)};
}

/// fp32 also for bf16 (autograd casts back); bias gradients have one dimension even where the bias
/// is a weight-shaped zero.
Values rnn_layer_backward(const Target&, const Values& a) {
  constexpr std::size_t kGradients = 7;
  Values gradients;
  for (std::size_t i = 0; i < kGradients; ++i) {
    const at::Tensor tensor = a[i].toTensor();
    const bool bias = i == 3 || i == 4;
    check_at_least(tensor, 1, "mkldnn_rnn_layer_backward");
    gradients.emplace_back(
        new_empty(bias ? Sizes{tensor.size(0)} : tensor.sizes().vec(), tensor, at::kFloat));
  }
  return gradients;
}

// CUDA's kernels for the gates of one step. The workspace holds the gates for the backward pass.

/// input_gates, hidden_gates, cx
Values fused_lstm_cell(const Target&, const Values& a) {
  const at::Tensor state = a[2].toTensor();
  return {contiguous_like(state), contiguous_like(state), contiguous_like(a[0].toTensor())};
}
/// grad_hy, grad_cy, cx, cy, workspace, has_bias
Values fused_lstm_cell_backward(const Target&, const Values& a) {
  const at::Tensor gates = a[4].toTensor();
  return {contiguous_like(gates),
          contiguous_like(a[2].toTensor()),
          a[5].toBool() ? new_empty({gates.size(1)}, gates) : at::Tensor()};
}

/// input_gates, hidden_gates, hx
Values fused_gru_cell(const Target&, const Values& a) {
  constexpr std::int64_t kKept = 5;
  const at::Tensor state = a[2].toTensor();
  return {contiguous_like(state),
          new_empty({state.size(0), product_of(state.size(1), kKept, "gates")}, state)};
}
/// grad_hy, workspace, has_bias
Values fused_gru_cell_backward(const Target&, const Values& a) {
  constexpr std::int64_t kGates = 3;
  const at::Tensor gradient = a[0].toTensor();
  const std::int64_t width = gradient.size(1) * kGates;
  const auto gates = [&] { return new_empty({gradient.size(0), width}, gradient); };
  const auto bias = [&] { return a[2].toBool() ? new_empty({width}, gradient) : at::Tensor(); };
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
