// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/cudnn_rnn.h"

namespace elixir::program {
namespace {

constexpr std::int64_t kSlackBytes = 256;
constexpr std::int64_t kFloatBytes = 4;

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
  // Gates and cell of every layer, what layers hand on, and fp32 states.
  const std::int64_t row_elements =
      directions * (layers * (gates() + 1) * hidden_width + (layers - 1) * recurrent_width());
  const std::int64_t state_elements = 2 * layers * directions * batch * hidden_width;
  return steps * batch * row_elements * element_bytes(dtype) + state_elements * kFloatBytes +
         kSlackBytes;
}

std::int64_t CudnnRnn::workspace_bytes() const {
  // The matrices again and fp32 sums of one; gates and three more rows a step, ten a layer.
  constexpr std::int64_t kRowsAStep = 3;
  constexpr std::int64_t kRowsALayer = 10;
  constexpr std::int64_t kBytesASequence = 8;
  const std::int64_t rows = directions * (steps * (gates() + kRowsAStep) + layers * kRowsALayer);
  return matrix_elements() * element_bytes(dtype) +
         gates() * hidden_width * hidden_width * kFloatBytes + kSlackBytes +
         batch * (rows * hidden_width * element_bytes(dtype) + kBytesASequence);
}

bool CudnnRnn::is_recorded() const {
  constexpr std::int64_t kSteps = 128;
  constexpr std::int64_t kWidth = 1024;
  constexpr std::int64_t kSmallBatch = 8;
  constexpr std::int64_t kLargeBatch = 32;
  return mode == Mode::kLstm && layers == 2 && directions == 1 && projection_width == 0 &&
         input_width == kWidth && hidden_width == kWidth && steps == kSteps &&
         (batch == kSmallBatch || batch == kLargeBatch) &&
         (dtype == DType::kFloat32 || dtype == DType::kBFloat16);
}

}  // namespace elixir::program
