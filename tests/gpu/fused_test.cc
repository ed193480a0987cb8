// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Fused operators on a GPU against those on the CPU, which are compared with fp64
// (tests/replay/fused_test.cc): every step, rows of many lengths, views, dtypes, results in place;
// and bits that depend neither on alignment nor on the run. Skipped without a GPU.
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <torch/library.h>

namespace elixir::replay {
namespace {

using Ints = std::vector<std::int64_t>;

struct Call {
  std::vector<at::Tensor> inputs;
  Ints shape;
  std::string program;
  Ints stored{}, dtypes{}, strides{};
  std::vector<at::Tensor> updated{};
};

/// New results, then what is updated.
std::vector<at::Tensor> run(const Call& call) {
  std::vector<c10::IValue> stack = {
      call.inputs, call.updated, call.shape, call.program, call.stored, call.dtypes, call.strides};
  c10::Dispatcher::singleton().findSchemaOrThrow("elixir::fused", "").callBoxed(stack);
  return stack.at(0).toTensorVector();
}

/// The same on a GPU, where every tensor begins `distance` elements after an aligned address.
Call on_gpu(const Call& call, std::int64_t distance) {
  const auto move = [distance](const at::Tensor& tensor) {
    const auto elements = static_cast<std::int64_t>(tensor.storage().nbytes()) /
                          static_cast<std::int64_t>(tensor.element_size());
    const at::Tensor memory = at::empty({elements + distance}, tensor.options().device(at::kCUDA));
    const at::Tensor whole =
        at::empty({0}, tensor.options()).set_(tensor.storage(), 0, {elements}, {1});
    memory.narrow(0, distance, elements).copy_(whole);
    return memory.as_strided(tensor.sizes(), tensor.strides(), distance + tensor.storage_offset());
  };
  Call moved = call;
  moved.inputs.clear();
  moved.updated.clear();
  for (const at::Tensor& updated : call.updated) moved.updated.push_back(move(updated));
  for (const at::Tensor& input : call.inputs) {
    // What is updated is an input, too.
    const auto same = [&](std::size_t i) { return call.updated[i].is_same(input); };
    std::size_t i = 0;
    while (i < call.updated.size() && !same(i)) ++i;
    moved.inputs.push_back(i < call.updated.size() ? moved.updated[i] : move(input));
  }
  return moved;
}

/// Inputs that no run has changed yet.
Call fresh(const Call& call) {
  Call copy = call;
  for (std::size_t i = 0; i < copy.updated.size(); ++i) {
    const at::Tensor before = call.updated[i];
    copy.updated[i] = at::empty_strided(before.sizes(), before.strides(), before.options());
    copy.updated[i].copy_(before);
    for (at::Tensor& input : copy.inputs) {
      if (input.is_same(before)) input = copy.updated[i];
    }
  }
  return copy;
}

double rms(const at::Tensor& x) {
  return x.to(at::kDouble).square().mean().sqrt().item<double>();
}

void expect_as_on_cpu(const Call& call) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no GPU";
  const auto expected = run(fresh(call));
  const auto aligned = run(on_gpu(call, 0));
  const auto again = run(on_gpu(call, 0));
  const auto elsewhere = run(on_gpu(call, 3));
  ASSERT_EQ(aligned.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i) + " of " + call.program);
    EXPECT_TRUE(at::equal(aligned[i], again[i]));
    EXPECT_TRUE(at::equal(aligned[i], elsewhere[i]));
    const at::Tensor here = aligned[i].cpu().to(at::kDouble);
    const double unit = expected[i].scalar_type() == at::kFloat  ? 2e-6
                        : expected[i].scalar_type() == at::kHalf ? 1e-3
                                                                 : 8e-3;
    EXPECT_GT(rms(expected[i]), 0);
    EXPECT_LE(rms(here - expected[i].to(at::kDouble)), unit * rms(expected[i]));
  }
}

constexpr const char* kRmsNorm =
    "input 0;mul 0 0;constant 64;sum 1;div 3 2;constant 1e-06;add 4 5;rsqrt 6;mul 0 7;input 1;mul "
    "8 9";

TEST(FusedOnGpu, RowsOfManyLengths) {
  at::manual_seed(1);
  for (const std::int64_t width :
       {2, 8, 31, 64, 511, 512, 513, 1024, 1025, 3072, 4096, 8191, 16384, 50257, 140000}) {
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
      SCOPED_TRACE(width);
      expect_as_on_cpu({{at::randn({2, 33, width}).to(dtype), at::randn({width}).to(dtype)},
                        {2, 33, width},
                        kRmsNorm,
                        {0, 7, 10},
                        {6, 6, static_cast<std::int64_t>(dtype)},
                        {33 * width, width, 1, 33, 1, 0, 33 * width, width, 1}});
    }
  }
}

/// Two sums, one after the other, and a result in place.
TEST(FusedOnGpu, ALayerNormThatIsAddedInPlace) {
  at::manual_seed(2);
  for (const std::int64_t width : {64, 3072}) {
    const at::Tensor sum = at::randn({66, width}).to(at::kBFloat16);
    const std::string count = std::to_string(width);
    expect_as_on_cpu({{at::randn({66, width}).to(at::kBFloat16), at::randn({width}), sum},
                      {66, width},
                      "input 0;constant " + count +
                          ";sum 0;div 2 1;sub 0 3;mul 4 4;sum 5;div 6 1;constant 1e-05;add 7 8;"
                          "rsqrt 9;mul 4 10;input 1;mul 11 12;input 2;add 13 14",
                      {3, 10, 13, 15},
                      {6, 6, 15},
                      {1, 0, 1, 0, width, 1},
                      {sum}});
  }
}

TEST(FusedOnGpu, EveryStep) {
  at::manual_seed(3);
  for (const char* step : {"add 0 1",
                           "sub 0 1",
                           "mul 0 1",
                           "div 0 1",
                           "neg 0",
                           "sqrt 1",
                           "rsqrt 1",
                           "exp 0",
                           "tanh 0",
                           "erf 0",
                           "pow 1 0",
                           "le 0 1",
                           "where 2 0 1"}) {
    for (const std::int64_t n : {1, 7, 8, 4096, 100003}) {
      expect_as_on_cpu({{at::randn({n}) + 3, at::rand({n}) + 0.1, at::arange(n) % 3 < 2},
                        {n},
                        std::string("input 0;input 1;input 2;") + step + ";constant 1;add 3 4",
                        {5},
                        {6},
                        {1}});
    }
  }
}

TEST(FusedOnGpu, ViewsAndBroadcasts) {
  at::manual_seed(4);
  for (const std::int64_t width : {16, 17}) {
    const at::Tensor turned = at::randn({2, 3, 4, width}).to(at::kBFloat16).transpose(1, 2);
    expect_as_on_cpu({{turned, at::randn({3, width}), at::randn({4, 1, 1}), at::randn({width})},
                      {2, 4, 3, width},
                      "input 0;input 1;mul 0 1;input 2;add 2 3;input 3;sub 4 5",
                      {2, 6},
                      {6, 15},
                      {12 * width, 3 * width, width, 1, 12 * width, width, 4 * width, 1}});
  }
}

}  // namespace
}  // namespace elixir::replay
