// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares choices that depend on the compute capability with the conditions in LibTorch 2.11's
// sdp_utils.cpp. Also checks for which GPUs LibTorch has kernels.
#include <cmath>
#include <string>

#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include "capture/cuda_architectures.h"
#include "capture/decompositions/decompositions.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

program::Target gpu(int sm) {
  return {.kind = program::Target::Kind::kCuda, .sm = sm};
}

struct Shape {
  at::ScalarType dtype = at::kBFloat16;
  std::int64_t width = 64, value_width = 64;
  double dropout = 0;
  bool trains = true;
};

/// The attention backend that LibTorch would choose, according to the table.
std::string attention_on(int sm, const Shape& shape) {
  const auto tensor = [&](std::int64_t width) {
    return at::empty({2, 4, 32, width}, at::TensorOptions(at::kMeta).dtype(shape.dtype))
        .requires_grad_(shape.trains);
  };
  const Values arguments{tensor(shape.width),
                         tensor(shape.width),
                         tensor(shape.value_width),
                         c10::IValue(),
                         shape.dropout,
                         false,
                         c10::IValue(),
                         false};
  const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::scaled_dot_product_attention", "");
  const Call call(op.schema(), arguments);
  const program::Target target = gpu(sm);
  if (takes_cudnn_attention(target, call)) return "cudnn";
  if (takes_flash_attention(target, call)) return "flash";
  return takes_efficient_attention(target, call) ? "efficient" : "math";
}

TEST(AttentionByGpu, CudnnComesFirstOnHopperAndOnDataCentreBlackwell) {
  for (const int sm : {90, 100, 103}) EXPECT_EQ(attention_on(sm, {}), "cudnn") << sm;
  for (const int sm : {80, 86, 87, 89, 120, 121}) EXPECT_EQ(attention_on(sm, {}), "flash") << sm;
}

TEST(AttentionByGpu, TuringHasNoFlashAttentionAndNoBf16) {
  EXPECT_EQ(attention_on(75, {}), "math");
  EXPECT_EQ(attention_on(75, {.dtype = at::kHalf}), "efficient");
  EXPECT_EQ(attention_on(75, {.dtype = at::kFloat, .width = 6, .value_width = 6}), "efficient");
  EXPECT_EQ(attention_on(80, {.dtype = at::kFloat, .width = 6, .value_width = 6}), "math");
}

TEST(AttentionByGpu, Fp32TakesEfficientAttentionEverywhere) {
  for (const int sm : {75, 80, 86, 89, 90, 100, 120}) {
    EXPECT_EQ(attention_on(sm, {.dtype = at::kFloat}), "efficient") << sm;
  }
}

TEST(AttentionByGpu, WideHeadsTrainWithFlashAttentionWhereSharedMemoryIsLarge) {
  const Shape wide{.width = 224, .value_width = 224};
  for (const int sm : {86, 89, 120, 121}) EXPECT_EQ(attention_on(sm, wide), "efficient") << sm;
  for (const int sm : {80, 100}) EXPECT_EQ(attention_on(sm, wide), "flash") << sm;
  EXPECT_EQ(attention_on(90, wide), "cudnn");
  EXPECT_EQ(attention_on(86, {.width = 224, .value_width = 224, .trains = false}), "flash");
  EXPECT_EQ(attention_on(86, {.width = 256, .value_width = 256}), "flash");
  EXPECT_EQ(attention_on(86, {.width = 256, .value_width = 256, .dropout = 0.1}), "efficient");
}

TEST(AttentionByGpu, CudnnTakesUnequalWidthsOfBlackwell) {
  EXPECT_EQ(attention_on(100, {.width = 192, .value_width = 128}), "cudnn");
  EXPECT_EQ(attention_on(100, {.width = 192, .value_width = 192}), "flash");
}

TEST(CudaTargets, WithoutKernelsInThisLibTorchAreRefusedByName) {
  for (const int sm : {75, 80, 86, 87, 88, 89, 90, 100, 103, 120, 121}) {
    EXPECT_NO_THROW(check_target(gpu(sm))) << sm;
  }
  EXPECT_NO_THROW(check_target(*program::Target::parse("cpu:avx2")));
  for (const int sm : {50, 60, 70, 72, 91, 110, 130}) {
    try {
      check_target(gpu(sm));
      ADD_FAILURE() << sm << " is taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.info().code, ErrorCode::kWrongTarget);
      EXPECT_NE(error.info().message.find("cuda:sm_" + std::to_string(sm)), std::string::npos);
      EXPECT_NE(error.info().help.at(0).find("cuda:sm_75, cuda:sm_80"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace elixir::capture
