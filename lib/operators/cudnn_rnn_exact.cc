// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The recurrent layers whose sizes are exact, not estimates. Bidirectional layers and layers with
// projections are excluded: the formulas match all their recordings to the byte, but those vary
// only in layers and widths, not in steps and batch.
#include "operators/cudnn_rnn_workspace.h"

namespace elixir::operators {
using program::DType;

namespace {

bool is_recorded_kind(const CudnnRnn& rnn) {
  return rnn.directions == 1 && rnn.projection_width == 0 &&
         (rnn.dtype == DType::kFloat32 || rnn.dtype == DType::kBFloat16 ||
          rnn.dtype == DType::kFloat16);
}

bool is_between(std::int64_t low, std::int64_t value, std::int64_t high) {
  return low <= value && value <= high;
}

bool is_within_recorded_ranges(const CudnnRnn& rnn) {
  constexpr std::int64_t kLayers = 4;
  constexpr std::int64_t kSteps = 500;
  constexpr std::int64_t kBatch = 100;
  constexpr std::int64_t kNarrowest = 16;
  constexpr std::int64_t kWidestInput = 1024;
  constexpr std::int64_t kWidestHidden = 1500;
  return is_between(1, rnn.layers, kLayers) && is_between(1, rnn.steps, kSteps) &&
         is_between(1, rnn.batch, kBatch) &&
         is_between(kNarrowest, rnn.input_width, kWidestInput) &&
         is_between(kNarrowest, rnn.hidden_width, kWidestHidden);
}

/// LibTorch's rule for CUDNN_RNN_ALGO_PERSIST_STATIC, widened to be safe: no recorded layer uses
/// that algorithm.
bool may_be_persistent(const CudnnRnn& rnn) {
  constexpr std::int64_t kWidthStep = 128;
  constexpr std::int64_t kBatchStep = 8;
  return rnn.dtype == DType::kFloat16 && rnn.mode != CudnnRnn::Mode::kGru && rnn.layers == 1 &&
         rnn.hidden_width % kWidthStep == 0 && rnn.input_width % kWidthStep == 0 &&
         rnn.batch % kBatchStep == 0 && !has_small_hidden_state(rnn, CudnnRnn::Pass::kForward);
}

/// Whether a layer of at least this width was recorded with the algorithm for small hidden states,
/// or a layer of at most this width without it. In bf16 the two do not differ.
bool is_algorithm_recorded(const CudnnRnn& rnn) {
  constexpr std::int64_t kSmall = 128;
  constexpr std::int64_t kLarge = 256;
  const std::int64_t scale = is_simple(rnn) ? 2 : 1;
  return rnn.dtype == DType::kBFloat16 || rnn.hidden_width <= scale * kSmall ||
         rnn.hidden_width >= scale * kLarge;
}

/// Every recorded buffer ended at such a multiple. Other buffers might be padded.
bool is_aligned(const CudnnRnn& rnn) {
  constexpr std::int64_t kBytes = 64;
  constexpr std::int64_t kMatrixBytes = 32;
  constexpr std::int64_t kMaskBits = 8;
  const std::int64_t element = element_bytes(rnn.dtype);
  const std::int64_t outputs = rnn.batch * rnn.hidden_width;
  return outputs * element % kBytes == 0 && rnn.batch * rnn.input_width * element % kBytes == 0 &&
         rnn.matrix_elements() * element % kMatrixBytes == 0 &&
         rnn.steps * outputs % kMaskBits == 0;
}

/// The smallest and largest chunks that are consistent with the recorded layers.
CudnnRnnChunks least_chunks(const CudnnRnn& rnn) {
  constexpr std::int64_t kFewSteps = 32;
  constexpr std::int64_t kMoreSteps = 128;
  constexpr std::int64_t kUsualBatch = 8;
  constexpr std::int64_t kLargerBatch = 32;
  constexpr std::int64_t kLargestBatch = 100;
  const bool few = rnn.steps <= kFewSteps;
  const bool batch_recorded =
      rnn.batch == kUsualBatch || rnn.batch == kLargerBatch || rnn.batch == kLargestBatch;
  const bool layer_steps_known = rnn.layers == 1 || (few && rnn.batch <= kUsualBatch) ||
                                 (batch_recorded && rnn.input_width <= rnn.hidden_width);
  const bool gate_steps_known =
      few || rnn.batch == kUsualBatch || (rnn.steps <= kMoreSteps && rnn.batch <= kLargerBatch);
  const CudnnRnnChunks chunks = chunks_of(rnn);
  return {layer_steps_known ? chunks.layer_steps : 0, gate_steps_known ? chunks.gate_steps : 0};
}

bool do_chunks_matter(const CudnnRnn& rnn) {
  const CudnnRnnChunks chunks = chunks_of(rnn);
  const CudnnRnnChunks least = least_chunks(rnn);
  const CudnnRnnChunks most = {least.layer_steps == 0 ? rnn.steps : chunks.layer_steps,
                               least.gate_steps == 0 ? rnn.steps : chunks.gate_steps};
  // Where the algorithms differ, the one for small hidden states has no chunks.
  constexpr auto kPass = CudnnRnn::Pass::kBackward;
  return elements_per_sequence(rnn, kPass, least) != elements_per_sequence(rnn, kPass, most);
}

}  // namespace

bool CudnnRnn::is_exact() const {
  return is_recorded_kind(*this) && is_within_recorded_ranges(*this) && !may_be_persistent(*this) &&
         is_algorithm_recorded(*this) && is_aligned(*this) && !do_chunks_matter(*this);
}

}  // namespace elixir::operators
