// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/cudnn_rnn.h"

#include "core/units.h"

namespace elixir::operators {
namespace {

/// Rows of hidden width that a layer keeps per step for its gradient: activations, the memory of an
/// LSTM, and three more rows for a GRU.
std::int64_t kept_rows(CudnnRnn::Mode mode) {
  constexpr std::int64_t kOfLstm = 5;
  constexpr std::int64_t kOfGru = 6;
  if (mode == CudnnRnn::Mode::kLstm) return kOfLstm;
  return mode == CudnnRnn::Mode::kGru ? kOfGru : 1;
}

}  // namespace

std::int64_t CudnnRnn::gates() const {
  constexpr std::int64_t kOfLstm = 4;
  constexpr std::int64_t kOfGru = 3;
  switch (mode) {
    case Mode::kLstm:
      return kOfLstm;
    case Mode::kGru:
      return kOfGru;
    case Mode::kRelu:
    case Mode::kTanh:
      break;
  }
  return 1;
}

std::int64_t CudnnRnn::recurrent_width() const {
  return projection_width > 0 ? projection_width : hidden_width;
}

std::int64_t CudnnRnn::layer_input_width(std::int64_t layer) const {
  return layer == 0 ? input_width : directions * recurrent_width();
}

std::int64_t CudnnRnn::matrix_elements() const {
  std::int64_t elements = 0;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t columns = layer_input_width(layer) + recurrent_width();
    elements += directions * (gates() * columns + projection_width) * hidden_width;
  }
  return elements;
}

std::int64_t CudnnRnn::weight_elements() const {
  return matrix_elements() + layers * directions * 2 * gates() * hidden_width;
}

std::int64_t CudnnRnn::reserve_bytes() const {
  // First the rows that every layer keeps per step, then the inputs of all layers except the first,
  // then dropout's masks: one bit per element, for every direction of every layer except the last.
  // With two directions, each direction has the elements of both.
  constexpr std::int64_t kSlackBytes = 256;
  constexpr std::int64_t kBitsAByte = 8;
  constexpr std::int64_t kAlignmentBytes = 32;
  const std::int64_t before_projection = projection_width > 0 ? hidden_width + projection_width : 0;
  const std::int64_t layer = kept_rows(mode) * hidden_width + before_projection;
  const std::int64_t kept = directions * (layers * layer + (layers - 1) * hidden_width);
  const std::int64_t masks = has_dropout ? (layers - 1) * directions : 0;
  const std::int64_t mask_bits = steps * batch * directions * recurrent_width();
  return kSlackBytes + round_up(steps * batch * kept * element_bytes(dtype), kAlignmentBytes) +
         masks * round_up(ceil_div(mask_bits, kBitsAByte), kAlignmentBytes);
}

}  // namespace elixir::operators
