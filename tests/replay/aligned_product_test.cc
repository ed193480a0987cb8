// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Aligned products on the CPU, against fp64 and beside LibTorch's: any shape, operands with any
// strides, rows with padding.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace elixir::replay {
namespace {

at::Tensor aligned(const at::Tensor& left, const at::Tensor& right, std::int64_t row_stride) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("elixir::mm", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)>();
  return op.call(left, right, row_stride);
}
at::Tensor aligned(const at::Tensor& bias,
                   const at::Tensor& left,
                   const at::Tensor& right,
                   std::int64_t row_stride) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("elixir::addmm", "")
          .typed<at::Tensor(
              const at::Tensor&, const at::Tensor&, const at::Tensor&, std::int64_t)>();
  return op.call(bias, left, right, row_stride);
}

at::Tensor aligned_batch(const at::Tensor& left, const at::Tensor& right, std::int64_t row_stride) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("elixir::bmm", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, std::int64_t)>();
  return op.call(left, right, row_stride);
}

double error(const at::Tensor& found, const at::Tensor& exact) {
  return (found.to(at::kDouble) - exact).square().mean().sqrt().item<double>();
}

/// Random numbers, row by row or column by column, with padding between rows or columns.
at::Tensor matrix(std::int64_t rows, std::int64_t columns, at::ScalarType dtype, bool turned) {
  constexpr std::int64_t kPadding = 3;
  const at::Tensor made = turned ? at::randn({columns, rows + kPadding}).narrow(1, 0, rows).t()
                                 : at::randn({rows, columns + kPadding}).narrow(1, 0, columns);
  return made.to(dtype);
}

TEST(AlignedProduct, IsAsCloseToFp64AsLibTorchs) {
  at::manual_seed(1);
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const bool turned : {false, true}) {
      for (const auto& [rows, inner, columns] : {std::array<std::int64_t, 3>{33, 64, 1029},
                                                 {33, 1029, 64},
                                                 {1029, 65, 31},
                                                 {5, 7, 3},
                                                 {16, 32, 64},
                                                 {1, 1, 1}}) {
        const std::string shape = fmt::format("{} x {} x {}", rows, inner, columns);
        SCOPED_TRACE(shape);
        const at::Tensor left = matrix(rows, inner, dtype, turned);
        const at::Tensor right = matrix(inner, columns, dtype, !turned);
        const at::Tensor exact = left.to(at::kDouble).mm(right.to(at::kDouble));
        const at::Tensor found = aligned(left, right, columns + 5);
        EXPECT_EQ(found.sizes(), exact.sizes());
        EXPECT_EQ(found.stride(0), columns + 5);
        EXPECT_EQ(found.stride(1), 1);
        EXPECT_EQ(found.scalar_type(), dtype);
        // Two sums instead of one may be rounded otherwise, by less than a rounding of the result.
        const double slack = dtype == at::kFloat ? 1e-6 * std::sqrt(inner) : 1e-6;
        EXPECT_LE(error(found, exact), 1.05 * error(left.mm(right), exact) + slack);
        const at::Tensor bias = at::randn({columns}).to(dtype);
        EXPECT_LE(error(aligned(bias, left, right, columns), exact + bias.to(at::kDouble)),
                  1.5 * error(at::addmm(bias, left, right), exact + bias.to(at::kDouble)) + slack);
      }
    }
  }
}

TEST(AlignedProduct, OfABatchIsAsCloseToFp64AsLibTorchs) {
  at::manual_seed(2);
  constexpr std::int64_t kBatch = 3;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const bool turned : {false, true}) {
      for (const auto& [rows, inner, columns] : {std::array<std::int64_t, 3>{33, 64, 1029},
                                                 {33, 1029, 64},
                                                 {129, 65, 31},
                                                 {5, 7, 3},
                                                 {16, 32, 64},
                                                 {1, 1, 1}}) {
        const std::string shape = fmt::format("{} x {} x {}", rows, inner, columns);
        SCOPED_TRACE(shape);
        const at::Tensor left =
            matrix(kBatch * rows, inner, dtype, false).reshape({kBatch, rows, inner});
        const at::Tensor right =
            turned ? at::randn({kBatch, columns, inner}).to(dtype).transpose(1, 2)
                   : at::randn({inner, columns}).to(dtype).expand({kBatch, inner, columns});
        const at::Tensor exact = left.to(at::kDouble).bmm(right.to(at::kDouble));
        const at::Tensor found = aligned_batch(left, right, columns + 5);
        EXPECT_EQ(found.sizes(), exact.sizes());
        EXPECT_EQ(found.strides(), at::IntArrayRef({rows * (columns + 5), columns + 5, 1}));
        EXPECT_EQ(found.scalar_type(), dtype);
        const double slack = dtype == at::kFloat ? 1e-6 * std::sqrt(inner) : 1e-6;
        EXPECT_LE(error(found, exact), 1.05 * error(left.bmm(right), exact) + slack);
      }
    }
  }
}

TEST(AlignedProduct, IsExactForSmallIntegers) {
  const at::Tensor left = at::randint(-8, 8, {37, 53}).to(at::kFloat);
  const at::Tensor right = at::randint(-8, 8, {53, 41}).to(at::kFloat);
  EXPECT_TRUE(aligned(left, right, 44).equal(left.mm(right)));
  const at::Tensor bias = at::arange(41).to(at::kFloat);
  EXPECT_TRUE(aligned(bias, left, right, 41).equal(at::addmm(bias, left, right)));
  const at::Tensor lefts = at::randint(-8, 8, {4, 37, 53}).to(at::kFloat);
  const at::Tensor rights = at::randint(-8, 8, {4, 53, 41}).to(at::kFloat);
  EXPECT_TRUE(aligned_batch(lefts, rights, 41).equal(lefts.bmm(rights)));
}

TEST(AlignedProduct, TheStorageHasRoomForWholeRows) {
  const at::Tensor found = aligned(at::ones({4, 8}), at::ones({8, 5}), 8);
  EXPECT_EQ(found.storage().nbytes(), 4U * 8 * 4);
  EXPECT_EQ(found.storage_offset(), 0);
}

TEST(AlignedProduct, WhatDoesNotFitIsRefused) {
  const at::Tensor a = at::ones({4, 8}), b = at::ones({8, 5});
  EXPECT_THROW((void)aligned(a, b, 4), c10::Error);
  EXPECT_THROW((void)aligned(b, a, 8), c10::Error);
  EXPECT_THROW((void)aligned(a, b.to(at::kDouble), 5), c10::Error);
  EXPECT_THROW((void)aligned(at::ones({4}), a, b, 5), c10::Error);
  EXPECT_THROW((void)aligned(at::ones({8}), b, 5), c10::Error);
  EXPECT_THROW((void)aligned_batch(a, b, 5), c10::Error);
  EXPECT_THROW((void)aligned_batch(at::ones({2, 4, 8}), at::ones({3, 8, 5}), 5), c10::Error);
}

}  // namespace
}  // namespace elixir::replay
