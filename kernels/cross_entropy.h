// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Softmax cross entropy of rows of logits, and its gradient in place of the logits. No fp32 copy of
// the logits is made: they are read and written in their own dtype, with fp32 arithmetic. For one
// row with logits x, target t and weight w_t:
//
//   loss = w_t * (log(sum_j e^x_j) - x_t)     gradient_j = w_t * scale * (softmax(x)_j - [j = t])
//
// With label smoothing s, the target is right to 1 - s, and all C classes share the rest:
//
//   loss = (1 - s) * w_t * -log softmax(x)_t + s/C * sum_j w_j * -log softmax(x)_j
//   gradient_j = scale * (a * softmax(x)_j - s/C * w_j - [j = t] * (1 - s) * w_t)
//   where a = (1 - s) * w_t + s/C * sum_j w_j
//
// The loss of all rows is the sum, or the sum divided by the sum of the weights w_t (mean); or each
// row's is kept (none). A row whose target is `ignore_index` counts nothing and gets a gradient of
// zeros. Rows are summed in order, in fp64, so that the bits do not depend on the number of
// threads.
//
// Source: torch.nn.functional.cross_entropy; the gradient takes the place of the logits as in Liger
// Kernel (arXiv 2410.10989, section 3.2).

#include <cstddef>
#include <cstdint>

#include "kernels/element.h"
#include "kernels/isa.h"

namespace elixir::kernels {

/// What becomes of the rows' losses. The numbers are LibTorch's (at::Reduction).
enum class LossReduction : std::uint8_t { kNone, kMean, kSum };

struct CrossEntropyRows {
  void* logits = nullptr;  ///< (rows, classes); the classes of a row are dense
  Element type = Element::kFloat32;
  std::size_t rows = 0, classes = 0;
  std::size_t row_stride = 0;             ///< logits from one row to the next; 0: `classes`
  const std::int64_t* targets = nullptr;  ///< (rows)
  const float* weights = nullptr;         ///< (classes), or null: 1
  std::int64_t ignore_index = -100;
  LossReduction reduction = LossReduction::kMean;
  double label_smoothing = 0;
};

/// The gradients of the losses: one for each row without a reduction, else one (stride 0).
struct LossGradients {
  const void* values = nullptr;
  Element type = Element::kFloat32;
  std::size_t stride = 0;  ///< from one row's to the next
};

/// What a row's gradient is made of, where labels are smoothed:
/// of_probability * softmax(x)_j - of_class * w_j - [j = t] * of_target.
struct SmoothedGradient {
  float of_probability = 0, of_class = 0, of_target = 0;
};

/// The parts of the logarithm of a row's sum: largest + log(sum).
struct SoftmaxSum {
  float largest = 0, sum = 0;  ///< sum: of e^(x - largest)
};

struct LossSum {
  float loss = 0;
  float weight = 0;  ///< sum of the weights of the rows that count
};

/// What forward leaves for backward, per row. The largest logit is apart from the logarithm, so
/// that e^(x - largest - log_sum) is exact for large logits too.
enum class RowStatistic : std::uint8_t { kLargest, kLogSum, kLoss };
inline constexpr std::size_t kStatistics = 3;
[[nodiscard]] constexpr std::size_t position_of(RowStatistic statistic,
                                                const CrossEntropyRows& of,
                                                std::size_t row) {
  return static_cast<std::size_t>(statistic) * of.rows + row;
}

/// Position of a row's first logit.
[[nodiscard]] constexpr std::size_t first_of_row(const CrossEntropyRows& of, std::size_t row) {
  return row * (of.row_stride == 0 ? of.classes : of.row_stride);
}

/// Position of the first row whose target is neither a class nor `ignore_index`; `rows`: none.
[[nodiscard]] std::size_t first_bad_target(const CrossEntropyRows& of);

/// Rows `begin` to `end` - 1: statistics (kStatistics, rows), in the order of RowStatistic.
/// Targets must be valid. Several threads may work on different rows.
void cross_entropy_cpu(
    const CrossEntropyRows& of, std::size_t begin, std::size_t end, float* statistics, Isa isa);
/// The loss of all rows, from their statistics.
[[nodiscard]] LossSum sum_losses(const CrossEntropyRows& of, const float* statistics);
/// Replaces the logits of rows `begin` to `end` - 1 with their gradients. `weight` is the sum of
/// weights that the loss came with.
void cross_entropy_gradient_cpu(const CrossEntropyRows& of,
                                std::size_t begin,
                                std::size_t end,
                                const float* statistics,
                                const LossGradients& gradients,
                                float weight,
                                Isa isa);

}  // namespace elixir::kernels
