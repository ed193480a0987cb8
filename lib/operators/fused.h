// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Elixir's own operators. Edits put them into programs; models may not call them. They write in
// place and hold their intermediate values in registers: none takes memory beside its results.

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

[[nodiscard]] constexpr bool is_fused(std::string_view name) {
  return name == kFusedLoss || name == kFusedLossBackward;
}

}  // namespace elixir::operators
