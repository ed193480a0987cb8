// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the fused loss checks and allocates, on either device.

#include <cstdint>
#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

#include "kernels/cross_entropy.h"

namespace elixir::replay {

/// loss (scalar; without reduction one for each row), total_weight (scalar, fp32), statistics
/// (kStatistics, rows), fp32.
using LossResults = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

/// The rows of a call. Throws c10::Error unless logits (rows, classes) are dense, of a dtype that
/// the kernels read and on `device`, and target (rows, int64) and weight (classes, fp32) fit them.
[[nodiscard]] kernels::CrossEntropyRows rows_of(const at::Tensor& logits,
                                                const at::Tensor& target,
                                                const std::optional<at::Tensor>& weight,
                                                std::int64_t reduction,
                                                std::int64_t ignore_index,
                                                double label_smoothing,
                                                c10::DeviceType device);

/// Throws c10::Error for a dtype that the kernels do not write.
[[nodiscard]] kernels::Element element_of(at::ScalarType dtype);

/// New tensors beside `logits`, not filled.
[[nodiscard]] LossResults loss_results(const at::Tensor& logits,
                                       std::int64_t reduction,
                                       at::ScalarType dtype);

/// The gradients that backward is given. Throws c10::Error unless all that it is given fits the
/// logits.
[[nodiscard]] kernels::LossGradients check_backward(const kernels::CrossEntropyRows& rows,
                                                    const at::Tensor& logits,
                                                    const at::Tensor& gradient,
                                                    const at::Tensor& total_weight,
                                                    const at::Tensor& statistics);

}  // namespace elixir::replay
