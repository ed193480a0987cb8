// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// cuDNN's recurrent layers: the size of what they want besides inputs and outputs. A capture needs
// it for the results of `_cudnn_rnn` (packed weights, reserve space), the memory prediction for its
// workspace. cuDNN does not say how it computes these sizes: the formulas follow what
// scripts/recording/record_rnn.py recorded (cuDNN 9.19, compute capability 9.0) and hold for each of
// the 1,172 recorded layers (tests/operators/cudnn_rnn_recorded_test.cc).

#include <cstdint>

#include "program/program.h"

namespace elixir::operators {

/// One call of `_cudnn_rnn` in training, all layers and directions of it.
struct CudnnRnn {
  enum class Mode : std::uint8_t { kRelu, kTanh, kLstm, kGru };  ///< cudnnRNNMode_t
  /// LibTorch chooses an algorithm for each; the workspace is the algorithm's.
  enum class Pass : std::uint8_t { kForward, kBackward };

  Mode mode = Mode::kLstm;
  program::DType dtype = program::DType::kFloat32;
  std::int64_t layers = 1;
  std::int64_t directions = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input_width = 0;
  std::int64_t hidden_width = 0;
  std::int64_t projection_width = 0;  ///< of an LSTM with projections, else 0
  bool has_dropout = false;           ///< of a probability above 0

  [[nodiscard]] std::int64_t gates() const;
  /// Width of what a layer hands on in one direction.
  [[nodiscard]] std::int64_t recurrent_width() const;
  /// Of `layer`'s inputs.
  [[nodiscard]] std::int64_t layer_input_width(std::int64_t layer) const;
  /// Elements of the packed weights: matrices, then two biases for every gate, used or not.
  [[nodiscard]] std::int64_t matrix_elements() const;
  [[nodiscard]] std::int64_t weight_elements() const;

  /// What cudnnGetRNNTempSpaceSizes says for training.
  [[nodiscard]] std::int64_t reserve_bytes() const;
  [[nodiscard]] std::int64_t workspace_bytes(Pass pass) const;
  /// Whether both are more than an estimate: layers of one direction without projections, in fp32,
  /// bf16 or fp16, up to 4 layers, 500 steps, 100 sequences and 1,500 wide, whose algorithm was
  /// recorded and for which recorded layers settle every term (cudnn_rnn_exact.cc).
  [[nodiscard]] bool is_exact() const;
};

}  // namespace elixir::operators
