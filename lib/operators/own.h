// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Elixir's own operators. Edits put them into programs; models may not call them. On a GPU none
// takes memory beside its results.

#include <cstdint>
#include <string_view>

#include "program/program.h"

namespace elixir::operators {

/// Softmax cross entropy of rows of logits (kernels/cross_entropy.h).
/// Without reduction the loss is one number for each row.
///   (logits, target, weight?, reduction, ignore_index, label_smoothing, dtype)
///   -> (loss, total_weight, statistics)
inline constexpr std::string_view kFusedLoss = "elixir::cross_entropy";
/// Rows of `statistics`, with one number for each row of logits.
inline constexpr std::int64_t kFusedLossStatistics = 3;
/// Turns the logits into their gradient.
///   (logits, gradient, target, weight?, reduction, ignore_index, label_smoothing, total_weight,
///   statistics) -> logits
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
/// Products of a batch of matrices.
///   (self, mat2, row_stride) -> result
inline constexpr std::string_view kAlignedBatchProduct = "elixir::bmm";

/// Norms and elementwise operators in one (edit/fusion/fuse_elementwise.h). `program` is the text
/// of a fused_program.h over tensors broadcast to `shape`. The steps `stored` are the results:
/// first new ones, with dtypes (LibTorch's numbers) and strides, as many as `shape` has for each; a
/// result with one value for each row has last stride 0 and last size 1. After the new results
/// stand the steps whose values the tensors in `updated` take.
///   (inputs, updated, shape, program, stored, dtypes, strides) -> new results, updated
inline constexpr std::string_view kFused = "elixir::fused";

/// The ways of an activation that waits on the host between forward and backward (edit/offload.h).
/// The bytes move on a copy stream, between an operator that begins a copy and one that ends it.
/// Whoever runs the schedule copies; a replay by itself does not.
///   (activation) -> its copy on the host
inline constexpr std::string_view kOffloadBegin = "elixir::offload_begin";
/// The last use of the activation's own memory.
///   (activation, copy) -> ()
inline constexpr std::string_view kOffloadEnd = "elixir::offload_end";
/// Makes the memory that the copy comes back into.
///   (copy) -> activation
inline constexpr std::string_view kReloadBegin = "elixir::reload_begin";
///   (activation, copy) -> ()
inline constexpr std::string_view kReloadEnd = "elixir::reload_end";

enum class Movement : std::uint8_t {
  kNone,
  kOffloadBegin,
  kOffloadEnd,
  kReloadBegin,
  kReloadEnd,
};
[[nodiscard]] constexpr Movement movement_of(std::string_view name) {
  if (name == kOffloadBegin) return Movement::kOffloadBegin;
  if (name == kOffloadEnd) return Movement::kOffloadEnd;
  if (name == kReloadBegin) return Movement::kReloadBegin;
  return name == kReloadEnd ? Movement::kReloadEnd : Movement::kNone;
}

[[nodiscard]] constexpr bool is_aligned_product(std::string_view name) {
  return name == kAlignedProduct || name == kAlignedProductWithBias || name == kAlignedBatchProduct;
}
[[nodiscard]] constexpr bool is_own(std::string_view name) {
  return name == kFusedLoss || name == kFusedLossBackward || name == kFused ||
         is_aligned_product(name) || movement_of(name) != Movement::kNone;
}

/// LibTorch's number of a floating dtype of at most 32 bits, as arguments of operators have it.
[[nodiscard]] constexpr std::int64_t scalar_type_number(program::DType dtype) {
  constexpr std::int64_t kHalf = 5, kFloat = 6, kBFloat16 = 15;
  if (dtype == program::DType::kFloat16) return kHalf;
  return dtype == program::DType::kBFloat16 ? kBFloat16 : kFloat;
}

}  // namespace elixir::operators
