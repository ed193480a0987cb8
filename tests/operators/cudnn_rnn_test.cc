// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares sizes of cuDNN's recurrent layers with allocations recorded on an H200 (cuDNN 9.19): a
// step of an LSTM with two layers of width 1,024 over 128 tokens.
#include "operators/cudnn_rnn.h"

#include <gtest/gtest.h>

#include <vector>

namespace elixir::operators {
namespace {

using program::DType;

operators::CudnnRnn recorded_lstm(DType dtype, std::int64_t batch) {
  return {.mode = operators::CudnnRnn::Mode::kLstm,
          .dtype = dtype,
          .layers = 2,
          .directions = 1,
          .steps = 128,
          .batch = batch,
          .input_width = 1024,
          .hidden_width = 1024,
          .has_dropout = true};
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
    const operators::CudnnRnn rnn = recorded_lstm(recorded.dtype, recorded.batch);
    EXPECT_TRUE(rnn.is_exact());
    EXPECT_EQ(rnn.weight_elements() * element_bytes(recorded.dtype), recorded.weight_bytes);
    EXPECT_EQ(rnn.workspace_bytes(operators::CudnnRnn::Pass::kForward), recorded.workspace_bytes);
    EXPECT_EQ(rnn.workspace_bytes(operators::CudnnRnn::Pass::kBackward), recorded.workspace_bytes);
    EXPECT_EQ(rnn.reserve_bytes(), recorded.reserve_bytes);
  }
}

TEST(CudnnRnn, WeightsOfLayersDirectionsAndProjections) {
  // torch.nn.GRU(16, 8, num_layers=2, bidirectional=True): the second layer reads both directions.
  const operators::CudnnRnn gru = {.mode = operators::CudnnRnn::Mode::kGru,
                                   .layers = 2,
                                   .directions = 2,
                                   .input_width = 16,
                                   .hidden_width = 8};
  const std::int64_t first = 2 * (24 * 16 + 24 * 8 + 24 + 24);
  const std::int64_t second = 2 * (24 * 16 + 24 * 8 + 24 + 24);
  EXPECT_EQ(gru.weight_elements(), first + second);
  EXPECT_FALSE(gru.is_exact());
  // torch.nn.LSTM(16, 16, proj_size=4)
  const operators::CudnnRnn projected = {.mode = operators::CudnnRnn::Mode::kLstm,
                                         .input_width = 16,
                                         .hidden_width = 16,
                                         .projection_width = 4};
  EXPECT_EQ(projected.weight_elements(), 64 * 16 + 64 * 4 + 4 * 16 + 64 + 64);
  const operators::CudnnRnn plain = {
      .mode = operators::CudnnRnn::Mode::kTanh, .input_width = 3, .hidden_width = 5};
  EXPECT_EQ(plain.weight_elements(), 5 * 3 + 5 * 5 + 5 + 5);
}

// Between 128 and 192, LibTorch uses the algorithm for small hidden states only in forward.
TEST(CudnnRnn, PassesDifferBetweenTheirWidestSmallStates) {
  constexpr auto kForward = operators::CudnnRnn::Pass::kForward;
  constexpr auto kBackward = operators::CudnnRnn::Pass::kBackward;
  operators::CudnnRnn rnn = {.mode = operators::CudnnRnn::Mode::kGru,
                             .layers = 2,
                             .steps = 16,
                             .batch = 8,
                             .input_width = 64,
                             .hidden_width = 160};
  EXPECT_GT(rnn.workspace_bytes(kForward), rnn.workspace_bytes(kBackward));
  for (const std::int64_t width : {128, 256}) {
    rnn.hidden_width = width;
    EXPECT_EQ(rnn.workspace_bytes(kForward), rnn.workspace_bytes(kBackward)) << width;
  }
  rnn.hidden_width = 160;
  rnn.projection_width = 32;
  EXPECT_EQ(rnn.workspace_bytes(kForward), rnn.workspace_bytes(kBackward));
}

TEST(CudnnRnn, DropoutNeedsMasksBetweenLayers) {
  operators::CudnnRnn rnn = {
      .layers = 3, .steps = 16, .batch = 8, .input_width = 64, .hidden_width = 64};
  const std::int64_t without = rnn.reserve_bytes();
  rnn.has_dropout = true;
  EXPECT_EQ(rnn.reserve_bytes() - without, 2 * 16 * 8 * 64 / 8);
  rnn.layers = 1;
  const std::int64_t one_layer = rnn.reserve_bytes();
  rnn.has_dropout = false;
  EXPECT_EQ(rnn.reserve_bytes(), one_layer);
}

// Inference has no backward, and no dropout.
TEST(CudnnRnn, InferenceNeedsLess) {
  operators::CudnnRnn rnn = recorded_lstm(DType::kFloat32, 8);
  const std::int64_t inference = rnn.workspace_bytes(operators::CudnnRnn::Pass::kInference);
  EXPECT_LT(inference, rnn.workspace_bytes(operators::CudnnRnn::Pass::kForward));
  rnn.has_dropout = false;
  EXPECT_EQ(inference, rnn.workspace_bytes(operators::CudnnRnn::Pass::kInference));
}

// `get_algo` in ATen/native/cudnn/RNN.cpp.
TEST(CudnnRnn, FullPrecisionIsNeverPersistent) {
  constexpr auto kForward = operators::CudnnRnn::Pass::kForward;
  operators::CudnnRnn rnn = recorded_lstm(DType::kFloat16, 8);
  EXPECT_EQ(rnn.algorithm(kForward), operators::CudnnRnn::Algorithm::kStandard);
  rnn.layers = 1;
  EXPECT_EQ(rnn.algorithm(kForward), operators::CudnnRnn::Algorithm::kPersistent);
  rnn.hidden_width = 128;
  EXPECT_EQ(rnn.algorithm(kForward), operators::CudnnRnn::Algorithm::kSmallHiddenState);
  rnn.projection_width = 32;
  EXPECT_EQ(rnn.algorithm(kForward), operators::CudnnRnn::Algorithm::kStandard);
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    rnn = recorded_lstm(dtype, 8);
    rnn.layers = 1;
    EXPECT_EQ(rnn.algorithm(kForward), operators::CudnnRnn::Algorithm::kStandard);
  }
}

// Layers one step outside what cuDNN was asked, where a rule may not hold.
TEST(CudnnRnn, EstimatesWhereNothingWasAsked) {
  const operators::CudnnRnn exact = recorded_lstm(DType::kFloat16, 8);
  ASSERT_TRUE(exact.is_exact());
  std::vector<operators::CudnnRnn> estimates;
  const auto with = [&](auto change) {
    estimates.push_back(exact);
    change(estimates.back());
  };
  with([](operators::CudnnRnn& rnn) { rnn.dtype = DType::kInt32; });
  with([](operators::CudnnRnn& rnn) { rnn.layers = 25; });
  with([](operators::CudnnRnn& rnn) { rnn.directions = 3; });
  with([](operators::CudnnRnn& rnn) { rnn.steps = 8193; });
  with([](operators::CudnnRnn& rnn) { rnn.batch = 4097; });
  with([](operators::CudnnRnn& rnn) { rnn.input_width = 8193; });
  with([](operators::CudnnRnn& rnn) { rnn.hidden_width = 8193; });
  with([](operators::CudnnRnn& rnn) { rnn.projection_width = 1024; });
  with([](operators::CudnnRnn& rnn) {
    rnn.mode = operators::CudnnRnn::Mode::kGru;
    rnn.projection_width = 64;
  });
  with([](operators::CudnnRnn& rnn) {  // more weights than cuDNN counts
    rnn.layers = 5;
    rnn.hidden_width = 8192;
  });
  for (std::size_t i = 0; i < estimates.size(); ++i) EXPECT_FALSE(estimates[i].is_exact()) << i;
  operators::CudnnRnn other = exact;
  other.dtype = DType::kFloat64;
  other.directions = 2;
  other.projection_width = 64;
  EXPECT_TRUE(other.is_exact());
}

}  // namespace
}  // namespace elixir::operators
