// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Weights, reserve space, and the algorithm that LibTorch asks for.
#include "operators/cudnn_rnn.h"

#include "core/units.h"
#include "operators/cudnn_rnn_buffers.h"

namespace elixir::operators {
namespace {

bool is_plain(CudnnRnn::Mode mode) {
  return mode == CudnnRnn::Mode::kRelu || mode == CudnnRnn::Mode::kTanh;
}

/// `use_rnn_persist_small_h` in ATen/native/cudnn/RNN.cpp. cuDNN refuses wider states.
bool has_small_hidden_state(const CudnnRnn& rnn, CudnnRnn::Pass pass) {
  constexpr std::int64_t kForward = 192;
  constexpr std::int64_t kForwardPlain = 384;
  constexpr std::int64_t kBackward = 128;
  constexpr std::int64_t kBackwardPlain = 256;
  const bool plain = is_plain(rnn.mode);
  if (pass == CudnnRnn::Pass::kBackward) {
    return rnn.hidden_width <= (plain ? kBackwardPlain : kBackward);
  }
  return rnn.hidden_width <= (plain ? kForwardPlain : kForward);
}

/// `use_persist_common_heuristics` and `use_persist_device_heuristics`, the latter for a GPU of
/// compute capability 8.0 or above, except x.6, with at least 98 multiprocessors.
bool is_persistent(const CudnnRnn& rnn) {
  constexpr std::int64_t kWidthStep = 128;
  constexpr std::int64_t kWidest = 1024;
  constexpr std::int64_t kBatchStep = 8;
  constexpr std::int64_t kLargestBatch = 128;
  constexpr std::int64_t kLargeBatch = 96;
  constexpr std::int64_t kWide = 896;
  if (rnn.layers != 1 || rnn.directions != 1 || rnn.hidden_width > kWidest ||
      rnn.hidden_width % kWidthStep != 0 || rnn.input_width % kWidthStep != 0) {
    return false;
  }
  if (rnn.mode == CudnnRnn::Mode::kGru) return false;
  if (rnn.batch % kBatchStep != 0 || rnn.batch > kLargestBatch) return false;
  return !is_plain(rnn.mode) || rnn.batch < kLargeBatch || rnn.hidden_width < kWide;
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
  constexpr std::int64_t kSlackBytes = 256;
  constexpr std::int64_t kBitsAByte = 8;
  constexpr std::int64_t kOfGru = 6;
  const std::int64_t rows = steps * batch * directions;
  const std::int64_t outputs = layers * rows * hidden_width;
  CudnnRnnBuffers buffers(dtype);
  // What every layer keeps for its gradient: activations and, for an LSTM, its memory.
  buffers.add(mode == Mode::kGru ? kOfGru * outputs : outputs);
  if (mode == Mode::kLstm) buffers.add(gates() * outputs);
  // Outputs before and after the projection.
  if (projection_width > 0) {
    buffers.add(outputs);
    buffers.add(layers * rows * projection_width);
  }
  // What layers hand to each other.
  buffers.add((layers - 1) * rows * hidden_width);
  // Dropout's masks: one bit per element, for every direction of every layer except the last. With
  // two directions, each direction has the elements of both.
  if (has_dropout) {
    buffers.add_bytes(ceil_div(rows * recurrent_width(), kBitsAByte), (layers - 1) * directions);
  }
  return kSlackBytes + buffers.bytes();
}

CudnnRnn::Algorithm CudnnRnn::algorithm(Pass pass) const {
  if (projection_width > 0 || dtype == program::DType::kFloat64) return Algorithm::kStandard;
  if (has_small_hidden_state(*this, pass)) return Algorithm::kSmallHiddenState;
  return dtype == program::DType::kFloat16 && is_persistent(*this) ? Algorithm::kPersistent
                                                                   : Algorithm::kStandard;
}

}  // namespace elixir::operators
