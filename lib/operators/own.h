// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Elixir's own operators. Edits put them into programs; models may not call them. On a GPU none
// takes memory beside its results.

#include <cstdint>
#include <string_view>

namespace elixir::operators {

/// Softmax cross entropy of rows of logits (kernels/cross_entropy.h).
///   (logits, target, weight?, reduction, ignore_index, dtype) -> (loss, total_weight, statistics)
inline constexpr std::string_view kFusedLoss = "elixir::cross_entropy";
/// Rows of `statistics`, with one number for each row of logits.
inline constexpr std::int64_t kFusedLossStatistics = 3;
/// Turns the logits into their gradient.
///   (logits, gradient, target, weight?, reduction, ignore_index, total_weight, statistics)
///   -> logits
inline constexpr std::string_view kFusedLossBackward = "elixir::cross_entropy_backward_";

/// Tensor cores read rows that begin at multiples of this.
inline constexpr std::int64_t kAlignedBytes = 16;
/// A product of matrices with dimensions that tensor cores do not like (replay/aligned_product.cc).
/// `row_stride`: elements from one row of the result to the next.
///   (self, mat2, row_stride) -> result
inline constexpr std::string_view kAlignedProduct = "elixir::mm";
/// The same plus a bias for each column.
///   (self, mat1, mat2, row_stride) -> result
inline constexpr std::string_view kAlignedProductWithBias = "elixir::addmm";

[[nodiscard]] constexpr bool is_aligned_product(std::string_view name) {
  return name == kAlignedProduct || name == kAlignedProductWithBias;
}
[[nodiscard]] constexpr bool is_own(std::string_view name) {
  return name == kFusedLoss || name == kFusedLossBackward || is_aligned_product(name);
}

}  // namespace elixir::operators
