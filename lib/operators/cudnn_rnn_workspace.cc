// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Each term was derived from recorded layers that differ in one dimension. A name says what the
// term grows with. What cuDNN stores in it is unknown.
#include "operators/cudnn_rnn_workspace.h"

#include <algorithm>

#include "core/units.h"

namespace elixir::operators {
using program::DType;

namespace {

constexpr std::int64_t kBidirectional = 2;

/// Elements of the states of one sequence, `kinds` of them per layer and direction.
std::int64_t states(const CudnnRnn& rnn, std::int64_t kinds) {
  return rnn.layers * rnn.directions * kinds * rnn.hidden_width;
}

/// Kinds of states in addition to `over_layers` and `over_gates`.
std::int64_t more_for_two_directions(const CudnnRnn& rnn) {
  return rnn.directions == kBidirectional ? 2 : 0;
}

/// For all layers: inputs and their gradient, outputs of all steps, and what layers pass on.
std::int64_t over_layers(const CudnnRnn& rnn,
                         std::int64_t kinds_of_states,
                         std::int64_t layer_steps) {
  constexpr std::int64_t kInputs = 2;
  constexpr std::int64_t kOutputs = 3;
  constexpr std::int64_t kOutputsOfTwoDirections = 5;
  const std::int64_t inputs = kInputs * rnn.steps * rnn.input_width;
  if (rnn.directions == kBidirectional) {
    const std::int64_t kinds = kOutputsOfTwoDirections + (rnn.layers > 1 ? 1 : 0);
    return states(rnn, kinds_of_states) + inputs +
           kinds * rnn.steps * kBidirectional * rnn.hidden_width;
  }
  return states(rnn, kinds_of_states) + inputs + kOutputs * rnn.steps * rnn.hidden_width +
         std::max(rnn.input_width, rnn.hidden_width) * layer_steps;
}

/// For the gates of one layer: inputs, gates, outputs with and without dropout.
std::int64_t over_gates(const CudnnRnn& rnn,
                        std::int64_t kinds_of_states,
                        std::int64_t gate_steps) {
  constexpr std::int64_t kRecurrentStates = 2;
  constexpr std::int64_t kOutputsOfTwoDirections = 6;
  const std::int64_t outputs = rnn.directions == kBidirectional ? kOutputsOfTwoDirections
                               : rnn.has_dropout                ? 2
                                                                : 1;
  const std::int64_t recurrent =
      kRecurrentStates * rnn.layers * rnn.directions * rnn.recurrent_width();
  return states(rnn, kinds_of_states - kRecurrentStates) + recurrent +
         rnn.steps * (rnn.input_width + outputs * rnn.hidden_width +
                      rnn.directions * rnn.projection_width) +
         rnn.directions * rnn.gates() * rnn.hidden_width * gate_steps;
}

std::int64_t kinds_over_layers(const CudnnRnn& rnn) {
  constexpr std::int64_t kOfLstm = 11;
  constexpr std::int64_t kOfOthers = 5;
  return (rnn.mode == CudnnRnn::Mode::kLstm ? kOfLstm : kOfOthers) + more_for_two_directions(rnn);
}

std::int64_t of_standard_algorithm(const CudnnRnn& rnn, const CudnnRnnChunks& chunks) {
  constexpr std::int64_t kOfLstm = 10;
  constexpr std::int64_t kOfOthers = 5;
  const std::int64_t kinds_over_gates =
      (rnn.mode == CudnnRnn::Mode::kLstm ? kOfLstm : kOfOthers) + more_for_two_directions(rnn);
  return std::max(over_layers(rnn, kinds_over_layers(rnn), chunks.layer_steps),
                  over_gates(rnn, kinds_over_gates, chunks.gate_steps));
}

/// Additional rows of all steps for the algorithm for small hidden states.
std::int64_t small_rows(const CudnnRnn& rnn) {
  constexpr std::int64_t kOfSimple = 9;
  constexpr std::int64_t kOfLstm = 12;
  constexpr std::int64_t kOfGru = 14;
  if (is_simple(rnn)) return kOfSimple;
  return rnn.mode == CudnnRnn::Mode::kLstm ? kOfLstm : kOfGru;
}

/// All steps at once, without chunks.
std::int64_t of_small_algorithm(const CudnnRnn& rnn) {
  constexpr std::int64_t kGateStates = 7;
  constexpr std::int64_t kCopiesOfGates = 4;
  const std::int64_t one_way = rnn.directions == 1 ? 1 : 0;
  const std::int64_t rows = small_rows(rnn) + (rnn.layers > 1 ? one_way : 0);
  const std::int64_t layers = over_layers(rnn, kinds_over_layers(rnn) + one_way, rnn.steps) +
                              rows * rnn.steps * rnn.hidden_width;
  if (rnn.mode != CudnnRnn::Mode::kLstm) return layers;
  const std::int64_t kinds = kGateStates + one_way + more_for_two_directions(rnn);
  return std::max(layers,
                  over_gates(rnn, kinds, rnn.steps) +
                      kCopiesOfGates * rnn.gates() * rnn.hidden_width * rnn.steps);
}

}  // namespace

CudnnRnnChunks chunks_of(const CudnnRnn& rnn) {
  // Chunks of 128 rows over all layers: each layer is one chunk behind the layer before it.
  constexpr std::int64_t kRows = 128;
  constexpr std::int64_t kLeastSteps = 8;
  constexpr std::int64_t kGateSteps = 256;
  CudnnRnnChunks chunks = {rnn.steps, std::min(rnn.steps, kGateSteps)};
  if (rnn.layers > 1 && rnn.batch > 0) {
    const std::int64_t chunk = ceil_div(kRows, rnn.batch);
    chunks.layer_steps = std::min(rnn.steps, rnn.layers * chunk + std::max(chunk, kLeastSteps));
  }
  return chunks;
}

bool is_simple(const CudnnRnn& rnn) {
  return rnn.mode == CudnnRnn::Mode::kRelu || rnn.mode == CudnnRnn::Mode::kTanh;
}

bool has_small_hidden_state(const CudnnRnn& rnn, CudnnRnn::Pass pass) {
  constexpr std::int64_t kForward = 192;
  constexpr std::int64_t kForwardSimple = 384;
  constexpr std::int64_t kBackward = 128;
  constexpr std::int64_t kBackwardSimple = 256;
  if (rnn.projection_width > 0 || rnn.dtype == DType::kFloat64) return false;
  const bool simple = is_simple(rnn);
  if (pass == CudnnRnn::Pass::kForward) {
    return rnn.hidden_width <= (simple ? kForwardSimple : kForward);
  }
  return rnn.hidden_width <= (simple ? kBackwardSimple : kBackward);
}

std::int64_t elements_per_sequence(const CudnnRnn& rnn,
                                   CudnnRnn::Pass pass,
                                   const CudnnRnnChunks& chunks) {
  // In bf16 cuDNN needs the same for both algorithms.
  const bool small = has_small_hidden_state(rnn, pass) && rnn.dtype != DType::kBFloat16;
  return small ? of_small_algorithm(rnn) : of_standard_algorithm(rnn, chunks);
}

std::int64_t CudnnRnn::workspace_bytes(Pass pass) const {
  constexpr std::int64_t kProductBytes = std::int64_t{8} << 20;  // per layer and direction
  constexpr std::int64_t kSlackBytes = 256;
  constexpr std::int64_t kLengthBytes = 4;
  constexpr std::int64_t kLengthAlignment = 16;
  const std::int64_t lengths = round_up(kLengthBytes * batch, kLengthAlignment);
  const std::int64_t elements =
      matrix_elements() + batch * elements_per_sequence(*this, pass, chunks_of(*this));
  return layers * directions * kProductBytes + kSlackBytes + 2 * lengths +
         elements * element_bytes(dtype);
}

}  // namespace elixir::operators
