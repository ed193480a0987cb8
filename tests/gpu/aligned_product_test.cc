// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Aligned products of bf16 on the GPU, against fp64 and beside LibTorch's. Skipped without a GPU.
#include <array>
#include <cstdint>
#include <string>

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace elixir::replay {
namespace {

at::Tensor aligned(const char* name,
                   const at::Tensor& left,
                   const at::Tensor& right,
                   std::int64_t row_stride) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow(name, "")
      .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)>()
      .call(left, right, row_stride);
}

double error(const at::Tensor& found, const at::Tensor& exact) {
  return (found.to(at::kDouble) - exact).square().mean().sqrt().item<double>();
}

TEST(AlignedProductOnGpu, IsAsCloseToFp64AsLibTorchs) {
  if (!at::globalContext().hasCUDA()) GTEST_SKIP() << "no GPU";
  at::manual_seed(1);
  const auto options = at::TensorOptions().device(at::kCUDA).dtype(at::kBFloat16);
  for (const auto& [rows, inner, columns] :
       {std::array<std::int64_t, 3>{1025, 64, 1025}, {1025, 1025, 64}, {257, 1031, 63}}) {
    SCOPED_TRACE(fmt::format("{} x {} x {}", rows, inner, columns));
    const at::Tensor left = at::randn({8, rows, inner}, options);
    const at::Tensor right = at::randn({8, columns, inner}, options).transpose(1, 2);
    const at::Tensor exact = left.to(at::kDouble).bmm(right.to(at::kDouble));
    const at::Tensor found = aligned("elixir::bmm", left, right, columns + 7);
    EXPECT_EQ(found.stride(1), columns + 7);
    EXPECT_LE(error(found, exact), 1.05 * error(left.bmm(right), exact) + 1e-6);
    const at::Tensor of_one = aligned("elixir::mm", left[0], right[0], columns);
    EXPECT_LE(error(of_one, exact[0]), 1.05 * error(left[0].mm(right[0]), exact[0]) + 1e-6);
  }
}

}  // namespace
}  // namespace elixir::replay
