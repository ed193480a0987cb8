// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Sizes of the memory that cuDNN's recurrent layers need besides inputs and outputs. Capture needs
// them for the results of `_cudnn_rnn` (packed weights, reserve space), and memory prediction for
// its workspace. cuDNN does not document how it computes these sizes. The formulas here follow the
// answers of cuDNN 9.19 on GPUs of compute capability 9.0 (scripts/recording/ask_rnn.py). They gave
// every answer to the byte, also answers that came after the formulas were made
// (docs/design/memory.md, "Recurrent layers").

#include <cstdint>

#include "program/program.h"

namespace elixir::operators {

/// One call of `_cudnn_rnn`, with all its layers and directions.
struct CudnnRnn {
  enum class Mode : std::uint8_t { kRelu, kTanh, kLstm, kGru };  ///< cudnnRNNMode_t
  /// LibTorch chooses one algorithm for each pass. Training has kForward and kBackward.
  enum class Pass : std::uint8_t { kForward, kBackward, kInference };
  /// cudnnRNNAlgo_t. The workspace depends on it. Packed weights and reserve space do not.
  enum class Algorithm : std::uint8_t { kStandard = 0, kPersistent = 1, kSmallHiddenState = 3 };

  Mode mode = Mode::kLstm;
  program::DType dtype = program::DType::kFloat32;
  std::int64_t layers = 1;
  std::int64_t directions = 1;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t input_width = 0;
  std::int64_t hidden_width = 0;
  std::int64_t projection_width = 0;  ///< for an LSTM with projections, else 0
  bool has_dropout = false;           ///< with probability above 0

  [[nodiscard]] std::int64_t gates() const;
  /// Width of one direction's output of a layer.
  [[nodiscard]] std::int64_t recurrent_width() const;
  /// Width of the input of `layer`.
  [[nodiscard]] std::int64_t layer_input_width(std::int64_t layer) const;
  /// Elements of the packed weights: the matrices, then two biases for every gate, even if they are
  /// not used.
  [[nodiscard]] std::int64_t matrix_elements() const;
  [[nodiscard]] std::int64_t weight_elements() const;

  /// The reserve space that cudnnGetRNNTempSpaceSizes reports for training.
  [[nodiscard]] std::int64_t reserve_bytes() const;

  /// The algorithm that LibTorch asks for.
  [[nodiscard]] Algorithm algorithm(Pass pass) const;
  /// The workspace that cudnnGetRNNTempSpaceSizes reports for that algorithm.
  [[nodiscard]] std::int64_t workspace_bytes(Pass pass) const {
    return workspace_bytes(pass, algorithm(pass));
  }
  [[nodiscard]] std::int64_t workspace_bytes(Pass pass, Algorithm algorithm) const;
  /// Whether all these sizes are exact, not estimates. True for all layers whose dimensions are in
  /// the ranges that cuDNN was asked for.
  [[nodiscard]] bool is_exact() const;
};

}  // namespace elixir::operators
