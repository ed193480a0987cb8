// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The workspace is what every call needs, and the larger of the demands of forward and backward. In
// inference there is no backward. Each buffer was derived from layers that differ in one dimension:
// its slope says what it grows with, and its rounding which terms share it. What cuDNN stores in it
// is a guess.
#include <algorithm>
#include <iterator>

#include "core/units.h"
#include "operators/cudnn_rnn.h"
#include "operators/cudnn_rnn_buffers.h"

namespace elixir::operators {
namespace {

constexpr std::int64_t kBidirectional = 2;

/// Whether the algorithm has all steps in one kernel. In bf16 cuDNN reports the standard
/// algorithm's size, whichever algorithm it is asked for.
bool is_fused(const CudnnRnn& rnn, CudnnRnn::Algorithm algorithm) {
  return algorithm != CudnnRnn::Algorithm::kStandard && rnn.dtype != program::DType::kBFloat16;
}

/// Elements of one state: a row of `width` for each layer, direction and sequence.
std::int64_t one_state(const CudnnRnn& rnn, std::int64_t width) {
  return rnn.layers * rnn.directions * rnn.batch * width;
}

/// Elements of one direction's rows of `width` for all steps and sequences.
std::int64_t step_rows(const CudnnRnn& rnn, std::int64_t width) {
  return rnn.steps * rnn.batch * width;
}

void add_forward_states(CudnnRnnBuffers& buffers, const CudnnRnn& rnn, bool fused) {
  const std::int64_t hidden = one_state(rnn, rnn.hidden_width);
  buffers.add(hidden, 2);
  // The gates of one step, or two copies of the state.
  buffers.add(fused ? 2 * hidden : rnn.gates() * hidden);
  if (rnn.mode == CudnnRnn::Mode::kLstm) {
    buffers.add(one_state(rnn, rnn.recurrent_width()), 2);
    buffers.add(2 * hidden);
  }
  if (rnn.directions == kBidirectional) buffers.add(fused ? hidden : 2 * hidden);
}

/// Steps whose gates are computed at once.
std::int64_t gate_steps(const CudnnRnn& rnn, bool fused) {
  constexpr std::int64_t kMost = 256;
  const bool all = fused || rnn.directions == kBidirectional;
  return all ? rnn.steps : std::min(rnn.steps, kMost);
}

void add_forward_rows(CudnnRnnBuffers& buffers, const CudnnRnn& rnn, bool fused, bool drops) {
  constexpr std::int64_t kCopies = 4;
  const std::int64_t outputs = step_rows(rnn, rnn.hidden_width);
  buffers.add(step_rows(rnn, rnn.input_width));
  buffers.add(rnn.directions * outputs);
  // What one layer hands to the next: from both directions, or after dropout.
  if (rnn.directions == kBidirectional) {
    buffers.add(2 * kBidirectional * outputs);
  } else if (drops) {
    buffers.add(outputs);
  }
  if (rnn.projection_width > 0) buffers.add(rnn.directions * step_rows(rnn, rnn.projection_width));
  buffers.add(rnn.directions * rnn.gates() * rnn.batch * rnn.hidden_width * gate_steps(rnn, fused));
  if (fused) buffers.add(kCopies * rnn.gates() * outputs);
}

void add_backward_states(CudnnRnnBuffers& buffers, const CudnnRnn& rnn, bool fused) {
  constexpr std::int64_t kHidden = 4;
  constexpr std::int64_t kRecurrentOfLstm = 4;
  const std::int64_t hidden = one_state(rnn, rnn.hidden_width);
  const bool both = rnn.directions == kBidirectional;
  buffers.add(hidden, kHidden);
  if (both || !fused) buffers.add(hidden);
  if (both || fused) buffers.add(2 * hidden);
  if (rnn.mode == CudnnRnn::Mode::kLstm) {
    buffers.add(one_state(rnn, rnn.recurrent_width()), kRecurrentOfLstm);
    buffers.add(2 * hidden);
  }
}

/// Steps of a layer's output that wait for the next layer. Layers run side by side, each one chunk
/// of steps behind the layer before it. The larger the batch, the shorter the chunk.
std::int64_t waiting_steps(const CudnnRnn& rnn) {
  struct Chunk {
    std::int64_t largest_batch, steps;
  };
  constexpr Chunk kChunks[] = {{1, 32}, {8, 16}, {16, 8}, {96, 4}};
  constexpr std::int64_t kOfLargerBatches = 2;
  constexpr std::int64_t kFewSteps = 8;
  constexpr std::int64_t kLongSequence = 128;
  if (rnn.layers == 1) return rnn.steps;
  const auto* const found =
      std::find_if(std::begin(kChunks), std::end(kChunks), [&](const Chunk& chunk) {
        return rnn.batch <= chunk.largest_batch;
      });
  std::int64_t chunk = found == std::end(kChunks) ? kOfLargerBatches : found->steps;
  if (rnn.steps >= kLongSequence) chunk = std::max(chunk, kFewSteps);
  return std::min(rnn.steps, rnn.layers * chunk + std::max(chunk, kFewSteps));
}

/// Gradients of a fused kernel's gates: one row, or the rows that the reserve space keeps too.
std::int64_t fused_gate_rows(CudnnRnn::Mode mode) {
  constexpr std::int64_t kOfLstm = 4;
  constexpr std::int64_t kOfGru = 6;
  if (mode == CudnnRnn::Mode::kLstm) return kOfLstm;
  return mode == CudnnRnn::Mode::kGru ? kOfGru : 1;
}

void add_backward_rows(CudnnRnnBuffers& buffers, const CudnnRnn& rnn, bool fused) {
  const std::int64_t outputs = step_rows(rnn, rnn.hidden_width);
  // The input and its gradient.
  buffers.add(step_rows(rnn, rnn.input_width), 2);
  // The widest gradient that a layer hands back: for every pair of directions.
  buffers.add(rnn.directions * rnn.directions *
              step_rows(rnn, std::max(rnn.input_width, rnn.hidden_width)));
  // The output and its gradient, and both before the projection.
  buffers.add(rnn.directions * step_rows(rnn, rnn.recurrent_width()), 2);
  if (rnn.projection_width > 0) buffers.add(rnn.directions * outputs);
  if (rnn.directions == 1 && !fused) {
    buffers.add(rnn.batch * rnn.hidden_width * waiting_steps(rnn));
  } else {
    buffers.add((rnn.layers > 1 ? 2 : 1) * rnn.directions * outputs);
  }
  if (fused) buffers.add(fused_gate_rows(rnn.mode) * outputs);
}

/// What the fused kernels share between multiprocessors: rows of all steps, or what the persistent
/// kernel needs at least.
std::int64_t shared_bytes(const CudnnRnn& rnn, CudnnRnn::Algorithm algorithm) {
  constexpr std::int64_t kRows = 8;
  constexpr std::int64_t kHalfBytes = 2;
  constexpr std::int64_t kPersistentRows = 2432;
  const std::int64_t bytes =
      kRows * step_rows(rnn, rnn.hidden_width) * program::element_bytes(rnn.dtype);
  if (algorithm != CudnnRnn::Algorithm::kPersistent) return bytes;
  return std::max(bytes, kHalfBytes * rnn.hidden_width * (kPersistentRows + rnn.batch));
}

std::int64_t forward_demand(const CudnnRnn& rnn, bool fused, bool drops) {
  CudnnRnnBuffers buffers(rnn.dtype);
  add_forward_states(buffers, rnn, fused);
  add_forward_rows(buffers, rnn, fused, drops);
  return buffers.bytes();
}

std::int64_t backward_demand(const CudnnRnn& rnn, CudnnRnn::Algorithm algorithm, bool fused) {
  CudnnRnnBuffers buffers(rnn.dtype);
  add_backward_states(buffers, rnn, fused);
  add_backward_rows(buffers, rnn, fused);
  if (fused) buffers.add_bytes(shared_bytes(rnn, algorithm));
  return buffers.bytes();
}

/// What every call needs: room for products of matrices, the lengths of all sequences twice, and
/// a copy of the matrices.
std::int64_t always_needed(const CudnnRnn& rnn) {
  constexpr std::int64_t kProductBytes = std::int64_t{8} << 20;  // per layer and direction
  constexpr std::int64_t kSlackBytes = 256;
  constexpr std::int64_t kLengthBytes = 4;
  constexpr std::int64_t kLengthAlignment = 16;
  CudnnRnnBuffers buffers(rnn.dtype);
  buffers.add(rnn.matrix_elements());
  return rnn.layers * rnn.directions * kProductBytes + kSlackBytes +
         2 * round_up(kLengthBytes * rnn.batch, kLengthAlignment) + buffers.bytes();
}

}  // namespace

std::int64_t CudnnRnn::workspace_bytes(Pass pass, Algorithm algorithm) const {
  const bool trains = pass != Pass::kInference;
  const bool fused = is_fused(*this, algorithm);
  // LibTorch asks for no dropout in inference.
  std::int64_t demand = forward_demand(*this, fused, has_dropout && trains);
  if (trains) demand = std::max(demand, backward_demand(*this, algorithm, fused));
  return always_needed(*this) + demand;
}

}  // namespace elixir::operators
