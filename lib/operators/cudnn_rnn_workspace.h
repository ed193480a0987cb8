// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The terms of cuDNN's workspace for recurrent layers. Only `CudnnRnn` uses them.

#include <cstdint>

#include "operators/cudnn_rnn.h"

namespace elixir::operators {

/// Numbers of time steps that some buffers hold at once.
struct CudnnRnnChunks {
  std::int64_t layer_steps;  ///< for the output of one layer to the next
  std::int64_t gate_steps;   ///< for all gates of a layer
};

[[nodiscard]] CudnnRnnChunks chunks_of(const CudnnRnn& rnn);

/// Whether it has no gates: torch.nn.RNN.
[[nodiscard]] bool is_simple(const CudnnRnn& rnn);

/// Whether LibTorch chooses cuDNN's algorithm for small hidden states (`get_algo` in
/// ATen/native/cudnn/RNN.cpp).
[[nodiscard]] bool has_small_hidden_state(const CudnnRnn& rnn, CudnnRnn::Pass pass);

/// Workspace elements per sequence of the batch. Never decreases when a chunk grows.
[[nodiscard]] std::int64_t elements_per_sequence(const CudnnRnn& rnn,
                                                 CudnnRnn::Pass pass,
                                                 const CudnnRnnChunks& chunks);

}  // namespace elixir::operators
