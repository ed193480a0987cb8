// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Decides which recurrent layers a target runs: oneDNN's kernel, one call per direction of a layer,
// or step by step.
#include <algorithm>
#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/ops/_thnn_fused_gru_cell.h>
#include <ATen/ops/_thnn_fused_lstm_cell.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include "capture/decompositions/decompositions.h"

namespace elixir::capture {

using program::Target;

std::vector<at::Tensor> lstm_states(const Call& call) {
  std::vector<at::Tensor> both = call.tensors("hx");
  TORCH_CHECK(both.size() == 2, "lstm expects two hidden states");
  return both;
}

namespace {

/// LibTorch's check of the weights: `each` weights per layer and direction.
void check_weights(const Call& call, std::size_t given, std::size_t each) {
  const std::int64_t layers = call.integer("num_layers");
  const std::size_t a_layer = each * (call.flag("bidirectional") ? 2U : 1U);
  TORCH_CHECK(
      layers > 0 && given % a_layer == 0 && given / a_layer == static_cast<std::size_t>(layers),
      "got an incorrect number of RNN parameters: ",
      given,
      " for ",
      layers,
      " layers");
}

std::vector<at::Tensor> chunks(const at::Tensor& gates, std::int64_t count) {
  std::vector<at::Tensor> parts = gates.unsafe_chunk(count, 1);
  TORCH_CHECK(static_cast<std::int64_t>(parts.size()) == count,
              "expected the gates of a recurrent layer to be ",
              count,
              ", but got sizes ",
              gates.sizes());
  return parts;
}

}  // namespace

bool takes_onednn_lstm(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const std::vector<at::Tensor> state = lstm_states(call);
  const bool projections = state[0].size(2) != state[1].size(2);
  return input.numel() != 0 && !projections &&
         (input.scalar_type() == at::kFloat ||
          (input.scalar_type() == at::kBFloat16 && program::onednn_computes_in_bf16(target.isa)));
}

Values call_onednn_lstm(const Target&, const Call& call) {
  constexpr std::int64_t kLstmMode = 2;
  const std::vector<at::Tensor> state = lstm_states(call);
  const std::vector<at::Tensor> weights = call.tensors("params");
  const bool biases = call.flag("has_biases");
  const std::int64_t layers = call.integer("num_layers");
  const double dropout = call.number("dropout");
  const bool train = call.flag("train");
  const bool both_ways = call.flag("bidirectional");
  const bool batch_first = call.flag("batch_first");
  const std::int64_t directions = both_ways ? 2 : 1;
  const std::size_t weights_each = biases ? 4 : 2;
  check_weights(call, weights.size(), weights_each);

  at::Tensor input = call.tensor("input");
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
      // The second bias first, because LibTorch's compiler evaluates arguments from the right.
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

namespace {

enum class Cell { kLstm, kGru, kTanh, kRelu };

/// The weights of one direction of one layer. Biases and projection may be undefined.
struct Weights {
  at::Tensor input, hidden, input_bias, hidden_bias, projection;
};
struct State {
  at::Tensor hidden, memory;  ///< memory: only for an LSTM
};

std::vector<Weights> weights_of(const std::vector<at::Tensor>& flat,
                                bool biases,
                                bool projections) {
  const std::size_t each = 2 + (biases ? 2U : 0U) + (projections ? 1U : 0U);
  std::vector<Weights> all;
  for (std::size_t i = 0; i + each <= flat.size(); i += each) {
    Weights weights{flat[i], flat[i + 1], {}, {}, {}};
    if (biases)
      std::tie(weights.input_bias, weights.hidden_bias) = std::tie(flat[i + 2], flat[i + 3]);
    if (projections) weights.projection = flat[i + each - 1];
    all.push_back(std::move(weights));
  }
  return all;
}

/// One step. `input` is already multiplied by its weights. The order of calls is LibTorch's.
State step(Cell cell, const at::Tensor& input, const State& state, const Weights& weights) {
  const auto hidden = [&] { return at::linear(state.hidden, weights.hidden, weights.hidden_bias); };
  switch (cell) {
    case Cell::kTanh:
      return {at::tanh(hidden().add_(input)), {}};
    case Cell::kRelu:
      return {at::relu(hidden().add_(input)), {}};
    case Cell::kLstm: {
      const std::vector<at::Tensor> gates = chunks(hidden().add_(input), 4);
      const at::Tensor in = gates[0].sigmoid_();
      const at::Tensor forget = gates[1].sigmoid_();
      const at::Tensor candidate = gates[2].tanh_();
      const at::Tensor out = gates[3].sigmoid_();
      const at::Tensor kept = forget * state.memory;
      const at::Tensor memory = kept.add_(in * candidate);
      at::Tensor output = out * memory.tanh();
      if (weights.projection.defined()) output = at::matmul(output, weights.projection.t());
      return {output, memory};
    }
    case Cell::kGru:
      break;
  }
  const std::vector<at::Tensor> of_input = chunks(input, 3);
  const std::vector<at::Tensor> of_hidden = chunks(hidden(), 3);
  const at::Tensor reset = of_hidden[0].add_(of_input[0]).sigmoid_();
  const at::Tensor update = of_hidden[1].add_(of_input[1]).sigmoid_();
  const at::Tensor candidate = of_input[2].add(of_hidden[2].mul_(reset)).tanh_();
  return {(state.hidden - candidate).mul_(update).add_(candidate), {}};
}

struct Run {
  std::vector<at::Tensor> outputs;
  State last;
};

/// One direction of one layer, over inputs already multiplied by their weights.
Run run_steps(Cell cell,
              const std::vector<at::Tensor>& inputs,
              State state,
              const Weights& weights) {
  TORCH_CHECK(!inputs.empty(), "Expected sequence length to be larger than 0 in RNN");
  Run run;
  for (const at::Tensor& input : inputs) {
    state = step(cell, input, state, weights);
    run.outputs.push_back(state.hidden);
  }
  run.last = state;
  return run;
}

// Products and their slices are variables as in LibTorch, so that they live equally long.

at::Tensor run_layer(Cell cell, const at::Tensor& input, State& state, const Weights& weights) {
  const at::Tensor products = at::linear(input, weights.input, weights.input_bias);
  const Run run = run_steps(cell, products.unbind(0), state, weights);
  state = run.last;
  return at::stack(run.outputs, 0);
}

at::Tensor run_both_ways(Cell cell,
                         const at::Tensor& input,
                         State* states,
                         const Weights* weights) {
  at::Tensor products = at::linear(input, weights[0].input, weights[0].input_bias);
  std::vector<at::Tensor> inputs = products.unbind(0);
  const Run forwards = run_steps(cell, inputs, states[0], weights[0]);
  const at::Tensor output = at::stack(forwards.outputs, 0);
  products = at::linear(input, weights[1].input, weights[1].input_bias);
  inputs = products.unbind(0);
  std::reverse(inputs.begin(), inputs.end());
  Run backwards = run_steps(cell, inputs, states[1], weights[1]);
  std::reverse(backwards.outputs.begin(), backwards.outputs.end());
  const at::Tensor other = at::stack(backwards.outputs, 0);
  states[0] = forwards.last;
  states[1] = backwards.last;
  return at::cat({output, other}, output.dim() - 1);
}

/// What all layers of a call share, and the weights of each layer.
struct Stack {
  Cell cell;
  std::vector<Weights> weights;
  std::int64_t layers;
  double dropout;
  bool train, both_ways;

  Stack(Cell kind, const Call& call, bool projections)
      : cell(kind),
        weights(weights_of(call.tensors("params"), call.flag("has_biases"), projections)),
        layers(call.integer("num_layers")),
        dropout(call.number("dropout")),
        train(call.flag("train")),
        both_ways(call.flag("bidirectional")) {
    const std::size_t each = 2 + (call.flag("has_biases") ? 2U : 0U) + (projections ? 1U : 0U);
    check_weights(call, call.tensors("params").size(), each);
  }

  /// Returns the last layer's output. Sets `states` to the last states.
  [[nodiscard]] at::Tensor run(at::Tensor input, std::vector<State>& states) const {
    TORCH_CHECK(states.size() == weights.size(), "Expected more hidden states in stacked_rnn");
    std::size_t i = 0;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      input = both_ways ? run_both_ways(cell, input, &states[i], &weights[i])
                        : run_layer(cell, input, states[i], weights[i]);
      i += both_ways ? 2 : 1;
      if (dropout != 0 && train && layer + 1 < layers) input = at::dropout(input, dropout, true);
    }
    return input;
  }
};

at::Tensor steps_first(const Call& call) {
  const at::Tensor input = call.tensor("input");
  return call.flag("batch_first") ? input.transpose(0, 1) : input;
}

struct StackResult {
  at::Tensor output, hidden, memory;
};

StackResult run_with_one_state(Cell cell, const Call& call) {
  const at::Tensor input = steps_first(call);
  std::vector<State> states;
  for (const at::Tensor& hidden : call.tensor("hx").unbind(0)) states.push_back({hidden, {}});
  const at::Tensor output = Stack(cell, call, false).run(input, states);
  std::vector<at::Tensor> last;
  last.reserve(states.size());
  for (const State& state : states) last.push_back(state.hidden);
  return {output, at::stack(last, 0), {}};
}

Values one_state(Cell cell, const Call& call) {
  StackResult result = run_with_one_state(cell, call);
  if (call.flag("batch_first")) result.output.transpose_(0, 1);
  return {result.output, result.hidden};
}

StackResult run_lstm(const Call& call) {
  const std::vector<at::Tensor> state = lstm_states(call);
  const at::Tensor input = steps_first(call);
  const std::vector<at::Tensor> hidden = state[0].unbind(0);
  const std::vector<at::Tensor> memory = state[1].unbind(0);
  std::vector<State> states;
  TORCH_CHECK(hidden.size() == memory.size(), "Expected as many cell states as hidden states");
  for (std::size_t i = 0; i < hidden.size(); ++i) states.push_back({hidden[i], memory[i]});
  const bool projections = state[0].size(2) != state[1].size(2);
  const at::Tensor output = Stack(Cell::kLstm, call, projections).run(input, states);
  std::vector<at::Tensor> last_hidden;
  std::vector<at::Tensor> last_memory;
  for (const State& each : states) {
    last_hidden.push_back(each.hidden);
    last_memory.push_back(each.memory);
  }
  // The memory first, because LibTorch's compiler evaluates arguments from the right.
  const at::Tensor c = at::stack(last_memory, 0);
  return {output, at::stack(last_hidden, 0), c};
}

}  // namespace

Values call_stepwise_gru(const Target&, const Call& call) {
  return one_state(Cell::kGru, call);
}
Values call_stepwise_tanh(const Target&, const Call& call) {
  return one_state(Cell::kTanh, call);
}
Values call_stepwise_relu(const Target&, const Call& call) {
  return one_state(Cell::kRelu, call);
}
Values call_stepwise_lstm(const Target&, const Call& call) {
  const StackResult result = run_lstm(call);
  return {call.flag("batch_first") ? result.output.transpose(0, 1) : result.output,
          result.hidden,
          result.memory};
}

// On CUDA, one kernel computes all gates of a cell.
Values call_fused_lstm_cell(const Target&, const Call& call) {
  const std::vector<at::Tensor> state = lstm_states(call);
  const at::Tensor of_input = at::matmul(call.tensor("input"), call.tensor("w_ih").t());
  const at::Tensor of_hidden = at::matmul(state[0], call.tensor("w_hh").t());
  const auto [hidden, memory, workspace] =
      at::_thnn_fused_lstm_cell(of_input,
                                of_hidden,
                                state[1],
                                call.tensor_or_undefined("b_ih"),
                                call.tensor_or_undefined("b_hh"));
  return {hidden, memory};
}
Values call_fused_gru_cell(const Target&, const Call& call) {
  const at::Tensor state = call.tensor("hx");
  const at::Tensor of_input = at::matmul(call.tensor("input"), call.tensor("w_ih").t());
  const at::Tensor of_hidden = at::matmul(state, call.tensor("w_hh").t());
  return {std::get<0>(at::_thnn_fused_gru_cell(of_input,
                                               of_hidden,
                                               state,
                                               call.tensor_or_undefined("b_ih"),
                                               call.tensor_or_undefined("b_hh")))};
}

}  // namespace elixir::capture
