// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The operators that the edit of edit/loss/fused_loss.h puts into a program, for LibTorch's
// dispatcher. Models may not call them: only edits make them. A document may hold any call, so they
// check all that they are given.
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "kernels/cross_entropy.h"
#include "replay/fused_loss_arguments.h"

namespace elixir::replay {
namespace {

constexpr std::int64_t kRowsPerThread = 4;

LossResults forward_on_cpu(const at::Tensor& logits,
                           const at::Tensor& target,
                           const std::optional<at::Tensor>& weight,
                           std::int64_t reduction,
                           std::int64_t ignore_index,
                           double label_smoothing,
                           at::ScalarType dtype) {
  const kernels::CrossEntropyRows rows =
      rows_of(logits, target, weight, reduction, ignore_index, label_smoothing, c10::kCPU);
  const std::size_t bad = kernels::first_bad_target(rows);
  TORCH_CHECK_INDEX(bad == rows.rows, "Target ", rows.targets[bad], " is out of bounds.");
  auto [loss, total_weight, statistics] = loss_results(logits, reduction, dtype);
  auto* const numbers = statistics.mutable_data_ptr<float>();
  const kernels::Isa isa = kernels::best_isa();
  at::parallel_for(0, logits.size(0), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    kernels::cross_entropy_cpu(
        rows, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), numbers, isa);
  });
  const kernels::LossSum sum = kernels::sum_losses(rows, numbers);
  if (rows.reduction == kernels::LossReduction::kNone) {
    loss.copy_(statistics.select(0, static_cast<std::int64_t>(kernels::RowStatistic::kLoss)));
  } else {
    loss.fill_(sum.loss);
  }
  total_weight.fill_(sum.weight);
  return {loss, total_weight, statistics};
}

at::Tensor& backward_on_cpu(at::Tensor& logits,
                            const at::Tensor& gradient,
                            const at::Tensor& target,
                            const std::optional<at::Tensor>& weight,
                            std::int64_t reduction,
                            std::int64_t ignore_index,
                            double label_smoothing,
                            const at::Tensor& total_weight,
                            const at::Tensor& statistics) {
  const kernels::CrossEntropyRows rows =
      rows_of(logits, target, weight, reduction, ignore_index, label_smoothing, c10::kCPU);
  const kernels::LossGradients gradients =
      check_backward(rows, logits, gradient, total_weight, statistics);
  const std::size_t bad = kernels::first_bad_target(rows);
  TORCH_CHECK_INDEX(bad == rows.rows, "Target ", rows.targets[bad], " is out of bounds.");
  const auto weights = total_weight.item<float>();
  const float* const numbers = statistics.const_data_ptr<float>();
  const kernels::Isa isa = kernels::best_isa();
  at::parallel_for(0, logits.size(0), kRowsPerThread, [&](std::int64_t begin, std::int64_t end) {
    kernels::cross_entropy_gradient_cpu(rows,
                                        static_cast<std::size_t>(begin),
                                        static_cast<std::size_t>(end),
                                        numbers,
                                        gradients,
                                        weights,
                                        isa);
  });
  return logits;
}

TORCH_LIBRARY_FRAGMENT(elixir, library) {
  library.def(
      "cross_entropy(Tensor logits, Tensor target, Tensor? weight, int reduction, int "
      "ignore_index, float label_smoothing, ScalarType dtype) -> (Tensor loss, Tensor "
      "total_weight, Tensor statistics)");
  library.def(
      "cross_entropy_backward_(Tensor(a!) logits, Tensor gradient, Tensor target, Tensor? weight, "
      "int reduction, int ignore_index, float label_smoothing, Tensor total_weight, Tensor "
      "statistics) -> Tensor(a!)");
}

TORCH_LIBRARY_IMPL(elixir, CPU, library) {
  library.impl("cross_entropy", &forward_on_cpu);
  library.impl("cross_entropy_backward_", &backward_on_cpu);
}

}  // namespace
}  // namespace elixir::replay
