// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The terms of cuDNN's workspace for recurrent layers, for `CudnnRnn` alone.

#include <cstdint>

#include "operators/cudnn_rnn.h"

namespace elixir::operators {

/// How many steps at a time some buffers hold.
struct CudnnRnnChunks {
  std::int64_t layer_steps;  ///< of what one layer hands to the next
  std::int64_t gate_steps;   ///< of all gates of a layer
};

[[nodiscard]] CudnnRnnChunks chunks_of(const CudnnRnn& rnn);

/// Without gates: torch.nn.RNN.
[[nodiscard]] bool is_simple(const CudnnRnn& rnn);

/// Whether LibTorch asks for cuDNN's algorithm for small hidden states (`get_algo` in
/// ATen/native/cudnn/RNN.cpp).
[[nodiscard]] bool has_small_hidden_state(const CudnnRnn& rnn, CudnnRnn::Pass pass);

/// Elements of the workspace that each sequence of the batch adds. Never falls as a chunk grows.
[[nodiscard]] std::int64_t elements_per_sequence(const CudnnRnn& rnn,
                                                 CudnnRnn::Pass pass,
                                                 const CudnnRnnChunks& chunks);

}  // namespace elixir::operators
