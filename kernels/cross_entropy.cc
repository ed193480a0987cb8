// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/cross_entropy.h"

#include <cmath>
#include <cstring>

#include "kernels/kernel_table.h"

namespace elixir::kernels {
namespace {

bool counts(const CrossEntropyRows& of, std::size_t row) {
  return of.targets[row] != of.ignore_index;
}

float weight_of(const CrossEntropyRows& of, std::size_t row) {
  return of.weights == nullptr ? 1.0F : of.weights[of.targets[row]];
}

/// One element as fp32.
float value_at(const void* values, Element type, std::size_t position, const KernelTable& table) {
  float value = 0.0F;
  table.accumulate(&value, element_at(values, type, position), type, 1, Accumulate::kFirst);
  return value;
}

/// The sum of all classes' weights.
double sum_weights(const CrossEntropyRows& of) {
  if (of.weights == nullptr) return static_cast<double>(of.classes);
  double sum = 0;
  for (std::size_t c = 0; c < of.classes; ++c) sum += of.weights[c];
  return sum;
}

/// The part of label smoothing that each class gets.
double smoothing_of_class(const CrossEntropyRows& of) {
  return of.label_smoothing / static_cast<double>(of.classes);
}

SmoothedGradient smoothed_gradient_of(const CrossEntropyRows& of,
                                      std::size_t row,
                                      double weights,
                                      double scale) {
  const double each = smoothing_of_class(of);
  const double of_target = (1 - of.label_smoothing) * weight_of(of, row);
  return {.of_probability = static_cast<float>(scale * (of_target + each * weights)),
          .of_class = static_cast<float>(scale * each),
          .of_target = static_cast<float>(scale * of_target)};
}

}  // namespace

std::size_t first_bad_target(const CrossEntropyRows& of) {
  for (std::size_t row = 0; row < of.rows; ++row) {
    const std::int64_t target = of.targets[row];
    const bool is_class = target >= 0 && static_cast<std::size_t>(target) < of.classes;
    if (!is_class && counts(of, row)) return row;
  }
  return of.rows;
}

void cross_entropy_cpu(
    const CrossEntropyRows& of, std::size_t begin, std::size_t end, float* statistics, Isa isa) {
  const KernelTable& table = kernel_table(isa);
  const bool smooth = of.label_smoothing != 0;
  const double weights = smooth ? sum_weights(of) : 0;
  for (std::size_t row = begin; row < end; ++row) {
    const std::size_t first = first_of_row(of, row);
    const SoftmaxSum sum =
        table.softmax_sum(element_at(of.logits, of.type, first), of.type, of.classes);
    const double log_sum = std::log(static_cast<double>(sum.sum));
    statistics[position_of(RowStatistic::kLargest, of, row)] = sum.largest;
    statistics[position_of(RowStatistic::kLogSum, of, row)] = static_cast<float>(log_sum);
    float loss = 0.0F;
    if (counts(of, row)) {
      const auto target = static_cast<std::size_t>(of.targets[row]);
      const double below =
          static_cast<double>(sum.largest) - value_at(of.logits, of.type, first + target, table);
      if (smooth) {
        const float all_below = table.sum_below(
            element_at(of.logits, of.type, first), of.type, of.classes, sum.largest, of.weights);
        loss =
            static_cast<float>((1 - of.label_smoothing) * weight_of(of, row) * (below + log_sum) +
                               smoothing_of_class(of) * (all_below + weights * log_sum));
      } else {
        loss = static_cast<float>(below + log_sum) * weight_of(of, row);
      }
    }
    statistics[position_of(RowStatistic::kLoss, of, row)] = loss;
  }
}

LossSum sum_losses(const CrossEntropyRows& of, const float* statistics) {
  double loss = 0, weight = 0;
  for (std::size_t row = 0; row < of.rows; ++row) {
    if (!counts(of, row)) continue;
    loss += statistics[position_of(RowStatistic::kLoss, of, row)];
    weight += weight_of(of, row);
  }
  return {static_cast<float>(of.reduction == LossReduction::kMean ? loss / weight : loss),
          static_cast<float>(weight)};
}

void cross_entropy_gradient_cpu(const CrossEntropyRows& of,
                                std::size_t begin,
                                std::size_t end,
                                const float* statistics,
                                const LossGradients& gradients,
                                float weight,
                                Isa isa) {
  const KernelTable& table = kernel_table(isa);
  const bool smooth = of.label_smoothing != 0;
  const double weights = smooth ? sum_weights(of) : 0;
  for (std::size_t row = begin; row < end; ++row) {
    void* logits = element_at(of.logits, of.type, first_of_row(of, row));
    if (!counts(of, row)) {
      std::memset(logits, 0, of.classes * bytes_of(of.type));
      continue;
    }
    const float gradient =
        value_at(gradients.values, gradients.type, row * gradients.stride, table);
    const float each = of.reduction == LossReduction::kMean ? gradient / weight : gradient;
    const auto target = static_cast<std::size_t>(of.targets[row]);
    const float largest = statistics[position_of(RowStatistic::kLargest, of, row)];
    const float log_sum = statistics[position_of(RowStatistic::kLogSum, of, row)];
    if (smooth) {
      table.smoothed_gradient(logits,
                              of.type,
                              of.classes,
                              target,
                              largest,
                              log_sum,
                              smoothed_gradient_of(of, row, weights, each),
                              of.weights);
    } else {
      table.softmax_gradient(
          logits, of.type, of.classes, target, largest, log_sum, each * weight_of(of, row));
    }
  }
}

}  // namespace elixir::kernels
