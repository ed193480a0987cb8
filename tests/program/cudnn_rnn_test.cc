// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Sizes of cuDNN's recurrent layers against allocations recorded on an H200 (cuDNN 9.19): a step
// of an LSTM with two layers of width 1,024 over 128 tokens.
#include "program/cudnn_rnn.h"

#include <gtest/gtest.h>

namespace elixir::program {
namespace {

CudnnRnn recorded_lstm(DType dtype, std::int64_t batch) {
  return {.mode = CudnnRnn::Mode::kLstm,
          .dtype = dtype,
          .layers = 2,
          .directions = 1,
          .steps = 128,
          .batch = batch,
          .input_width = 1024,
          .hidden_width = 1024};
}

TEST(CudnnRnn, AsRecorded) {
  struct Recorded {
    DType dtype;
    std::int64_t batch, weight_bytes, workspace_bytes, reserve_bytes;
  };
  for (const Recorded& recorded : {Recorded{DType::kFloat32, 8, 67174400, 113901888, 46268672},
                                   Recorded{DType::kFloat32, 32, 67174400, 203948544, 185073920},
                                   Recorded{DType::kBFloat16, 8, 33587200, 65339712, 23200000},
                                   Recorded{DType::kBFloat16, 32, 33587200, 110363136, 92799232}}) {
    const CudnnRnn rnn = recorded_lstm(recorded.dtype, recorded.batch);
    EXPECT_TRUE(rnn.is_recorded());
    EXPECT_EQ(rnn.weight_elements() * element_bytes(recorded.dtype), recorded.weight_bytes);
    EXPECT_EQ(rnn.workspace_bytes(), recorded.workspace_bytes);
    EXPECT_EQ(rnn.reserve_bytes(), recorded.reserve_bytes);
  }
}

TEST(CudnnRnn, WeightsOfLayersDirectionsAndProjections) {
  // torch.nn.GRU(16, 8, num_layers=2, bidirectional=True): the second layer reads both directions.
  const CudnnRnn gru = {.mode = CudnnRnn::Mode::kGru,
                        .layers = 2,
                        .directions = 2,
                        .input_width = 16,
                        .hidden_width = 8};
  const std::int64_t first = 2 * (24 * 16 + 24 * 8 + 24 + 24);
  const std::int64_t second = 2 * (24 * 16 + 24 * 8 + 24 + 24);
  EXPECT_EQ(gru.weight_elements(), first + second);
  EXPECT_FALSE(gru.is_recorded());
  // torch.nn.LSTM(16, 16, proj_size=4)
  const CudnnRnn projected = {
      .mode = CudnnRnn::Mode::kLstm, .input_width = 16, .hidden_width = 16, .projection_width = 4};
  EXPECT_EQ(projected.weight_elements(), 64 * 16 + 64 * 4 + 4 * 16 + 64 + 64);
  const CudnnRnn plain = {.mode = CudnnRnn::Mode::kTanh, .input_width = 3, .hidden_width = 5};
  EXPECT_EQ(plain.weight_elements(), 5 * 3 + 5 * 5 + 5 + 5);
}

}  // namespace
}  // namespace elixir::program
