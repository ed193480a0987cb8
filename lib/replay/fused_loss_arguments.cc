// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/fused_loss_arguments.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/empty.h>

#include "operators/own.h"

namespace elixir::replay {
namespace {

constexpr std::int64_t kStatistics = operators::kFusedLossStatistics;
static_assert(kStatistics == static_cast<std::int64_t>(kernels::kStatistics));

/// From row to row; of one row, its length.
std::int64_t row_stride_of(const at::Tensor& rows) {
  return rows.size(0) == 1 ? rows.size(1) : rows.stride(0);
}

/// The elements of each row are dense, and rows do not overlap.
bool has_dense_rows(const at::Tensor& rows) {
  return (rows.size(1) == 1 || rows.stride(1) == 1) && row_stride_of(rows) >= rows.size(1);
}

kernels::LossReduction reduction_of(std::int64_t reduction) {
  switch (reduction) {
    case at::Reduction::None:
      return kernels::LossReduction::kNone;
    case at::Reduction::Mean:
      return kernels::LossReduction::kMean;
    case at::Reduction::Sum:
      return kernels::LossReduction::kSum;
    default:
      TORCH_CHECK_VALUE(false, "fused cross entropy has no reduction ", reduction);
  }
}

bool is_scalar(const at::Tensor& tensor, c10::Device device) {
  return tensor.dim() == 0 && tensor.device() == device;
}

}  // namespace

kernels::Element element_of(at::ScalarType dtype) {
  switch (dtype) {
    case c10::kFloat:
      return kernels::Element::kFloat32;
    case c10::kBFloat16:
      return kernels::Element::kBFloat16;
    case c10::kHalf:
      return kernels::Element::kFloat16;
    default:
      TORCH_CHECK_TYPE(false, "fused cross entropy does not take ", dtype);
  }
}

kernels::CrossEntropyRows rows_of(const at::Tensor& logits,
                                  const at::Tensor& target,
                                  const std::optional<at::Tensor>& weight,
                                  std::int64_t reduction,
                                  std::int64_t ignore_index,
                                  double label_smoothing,
                                  c10::DeviceType device) {
  const bool weighted = weight && weight->defined();
  TORCH_CHECK_VALUE(logits.dim() == 2 && logits.size(1) > 0 && has_dense_rows(logits) &&
                        logits.device().type() == device,
                    "fused cross entropy needs dense rows of logits");
  TORCH_CHECK_VALUE(target.dim() == 1 && target.is_contiguous() &&
                        target.scalar_type() == c10::kLong && target.size(0) == logits.size(0) &&
                        target.device() == logits.device(),
                    "fused cross entropy needs one int64 class per row");
  TORCH_CHECK_VALUE(
      !weighted ||
          (weight->dim() == 1 && weight->is_contiguous() && weight->scalar_type() == c10::kFloat &&
           weight->size(0) == logits.size(1) && weight->device() == logits.device()),
      "fused cross entropy needs one fp32 weight per class");
  TORCH_CHECK_VALUE(label_smoothing >= 0 && label_smoothing <= 1,
                    "fused cross entropy cannot smooth labels by ",
                    label_smoothing);
  return {.logits = logits.data_ptr(),
          .type = element_of(logits.scalar_type()),
          .rows = static_cast<std::size_t>(logits.size(0)),
          .classes = static_cast<std::size_t>(logits.size(1)),
          .row_stride = static_cast<std::size_t>(row_stride_of(logits)),
          .targets = target.const_data_ptr<std::int64_t>(),
          .weights = weighted ? weight->const_data_ptr<float>() : nullptr,
          .ignore_index = ignore_index,
          .reduction = reduction_of(reduction),
          .label_smoothing = label_smoothing};
}

LossResults loss_results(const at::Tensor& logits, std::int64_t reduction, at::ScalarType dtype) {
  (void)element_of(dtype);
  const auto options = logits.options().dtype(c10::kFloat);
  const bool reduces = reduction_of(reduction) != kernels::LossReduction::kNone;
  const at::Tensor loss = reduces ? at::empty({}, options.dtype(dtype))
                                  : at::empty({logits.size(0)}, options.dtype(dtype));
  return {loss, at::empty({}, options), at::empty({kStatistics, logits.size(0)}, options)};
}

kernels::LossGradients check_backward(const kernels::CrossEntropyRows& rows,
                                      const at::Tensor& logits,
                                      const at::Tensor& gradient,
                                      const at::Tensor& total_weight,
                                      const at::Tensor& statistics) {
  const bool reduces = rows.reduction != kernels::LossReduction::kNone;
  TORCH_CHECK_VALUE(reduces ? is_scalar(gradient, logits.device())
                            : gradient.dim() == 1 && gradient.size(0) == logits.size(0) &&
                                  gradient.device() == logits.device(),
                    "fused cross entropy needs one gradient of each of its losses");
  TORCH_CHECK_VALUE(
      is_scalar(total_weight, logits.device()) && total_weight.scalar_type() == c10::kFloat,
      "fused cross entropy needs the sum of weights of its forward");
  TORCH_CHECK_VALUE(statistics.dim() == 2 && statistics.is_contiguous() &&
                        statistics.scalar_type() == c10::kFloat &&
                        statistics.size(0) == kStatistics && statistics.size(1) == logits.size(0) &&
                        statistics.device() == logits.device(),
                    "fused cross entropy needs the statistics of its forward");
  return {.values = gradient.const_data_ptr(),
          .type = element_of(gradient.scalar_type()),
          .stride = reduces ? 0 : static_cast<std::size_t>(gradient.stride(0))};
}

}  // namespace elixir::replay
