// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The recurrent layers whose sizes are exact, not estimates.
#include "operators/cudnn_rnn.h"

namespace elixir::operators {
namespace {

bool is_up_to(std::int64_t value, std::int64_t high) {
  return 1 <= value && value <= high;
}

/// What scripts/recording/ask_rnn.py draws from.
bool is_within_asked_ranges(const CudnnRnn& rnn) {
  constexpr std::int64_t kLayers = 24;
  constexpr std::int64_t kSteps = 8192;
  constexpr std::int64_t kBatch = 4096;
  constexpr std::int64_t kWidestInput = 8192;
  constexpr std::int64_t kWidestHidden = 8192;
  return is_up_to(rnn.layers, kLayers) && is_up_to(rnn.directions, 2) &&
         is_up_to(rnn.steps, kSteps) && is_up_to(rnn.batch, kBatch) &&
         is_up_to(rnn.input_width, kWidestInput) && is_up_to(rnn.hidden_width, kWidestHidden);
}

bool is_asked_dtype(program::DType dtype) {
  return dtype == program::DType::kFloat32 || dtype == program::DType::kFloat64 ||
         dtype == program::DType::kFloat16 || dtype == program::DType::kBFloat16;
}

/// Only LSTMs have projections, and they are narrower than the hidden state.
bool has_valid_projection(const CudnnRnn& rnn) {
  if (rnn.projection_width == 0) return true;
  return rnn.mode == CudnnRnn::Mode::kLstm && is_up_to(rnn.projection_width, rnn.hidden_width - 1);
}

/// With more weights, cuDNN's own sums overflow. It then reports sizes that are too small.
bool can_cudnn_count_weights(const CudnnRnn& rnn) {
  constexpr std::int64_t kTooMany = std::int64_t{1} << 31;
  return rnn.weight_elements() < kTooMany;
}

}  // namespace

bool CudnnRnn::is_exact() const {
  return is_asked_dtype(dtype) && is_within_asked_ranges(*this) && has_valid_projection(*this) &&
         can_cudnn_count_weights(*this);
}

}  // namespace elixir::operators
