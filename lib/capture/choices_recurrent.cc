// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which recurrent layers a target runs.
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "capture/choices.h"

namespace elixir::capture {

using program::Target;

// lstm.input: input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
bool takes_onednn_lstm(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const std::vector<at::Tensor> state = a[1].toTensorVector();
  const bool projections = state[0].size(2) != state[1].size(2);
  return input.numel() != 0 && !projections &&
         (input.scalar_type() == at::kFloat || input.scalar_type() == at::kBFloat16);
}

Values call_onednn_lstm(const Target&, const Values& a) {
  constexpr std::int64_t kLstmMode = 2;
  const std::vector<at::Tensor> state = a[1].toTensorVector();
  const std::vector<at::Tensor> weights = a[2].toTensorVector();
  const bool biases = a[3].toBool();
  const std::int64_t layers = a[4].toInt();
  const double dropout = a[5].toDouble();
  const bool train = a[6].toBool();
  const bool both_ways = a[7].toBool();
  const bool batch_first = a[8].toBool();
  const std::int64_t directions = both_ways ? 2 : 1;
  const std::size_t weights_each = biases ? 4 : 2;

  at::Tensor input = a[0].toTensor();
  input = (batch_first ? input.transpose(0, 1) : input).contiguous();
  const at::Tensor h0 = state[0].contiguous();
  const at::Tensor c0 = state[1].contiguous();
  std::vector<at::Tensor> last_h;
  std::vector<at::Tensor> last_c;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    std::vector<at::Tensor> outputs;
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::int64_t i = layer * directions + direction;
      const at::Tensor* w = &weights[static_cast<std::size_t>(i) * weights_each];
      const at::Tensor h = h0[i];
      const at::Tensor c = c0[i];
      // The second bias first: LibTorch's compiler evaluates its arguments from the right.
      const at::Tensor bias1 = biases ? w[3] : at::zeros(w[1].sizes(), w[1].options());
      const at::Tensor bias0 = biases ? w[2] : at::zeros(w[0].sizes(), w[0].options());
      auto [output, hy, cy, workspace] = at::mkldnn_rnn_layer(input,
                                                              w[0],
                                                              w[1],
                                                              bias0,
                                                              bias1,
                                                              h,
                                                              c,
                                                              direction > 0,
                                                              {},
                                                              kLstmMode,
                                                              h0.size(2),
                                                              layers,
                                                              biases,
                                                              both_ways,
                                                              batch_first,
                                                              train);
      outputs.push_back(output);
      last_h.push_back(hy);
      last_c.push_back(cy);
    }
    input = directions == 1 ? outputs[0] : at::cat(outputs, -1);
    if (dropout != 0 && train && layer + 1 < layers) input = at::dropout(input, dropout, true);
  }
  const at::Tensor h = at::stack(last_h, 0);
  const at::Tensor c = at::stack(last_c, 0);
  return {batch_first ? input.transpose(0, 1) : input, h, c};
}

}  // namespace elixir::capture
