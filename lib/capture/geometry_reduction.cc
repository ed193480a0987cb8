// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of reductions, pooling and losses.
#include <algorithm>

#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Reduction.h>

#include "capture/geometry.h"

namespace elixir::capture {
namespace {

using program::Target;

Values scalar_of_same_dtype(const Target&, const Values& a) {
  return {new_empty({}, a[0].toTensor())};
}

/// Integers are multiplied in int64 unless a dtype is asked for.
Values product(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const at::ScalarType own = at::isIntegralType(input.scalar_type(), /*includeBool=*/true)
                                 ? at::kLong
                                 : input.scalar_type();
  return {new_empty({}, input, a[1].isNone() ? own : a[1].toScalarType())};
}

/// self, dim, correction, keepdim
at::Tensor deviation(const Values& a) {
  const at::Tensor input = a[0].toTensor();
  Sizes reduced = a[1].isNone() ? Sizes{} : a[1].toIntVector();
  for (std::int64_t& dimension : reduced) {
    dimension = at::maybe_wrap_dim(dimension, input.dim());
  }
  const bool all = reduced.empty();
  Sizes sizes;
  for (std::int64_t d = 0; d < input.dim(); ++d) {
    const bool gone = all || std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    if (!gone) {
      sizes.push_back(input.size(d));
    } else if (a[3].toBool()) {
      sizes.push_back(1);
    }
  }
  return new_empty(sizes, input, at::toRealValueType(input.scalar_type()));
}
Values deviation_alone(const Target&, const Values& a) {
  return {deviation(a)};
}
Values deviation_and_mean(const Target&, const Values& a) {
  const at::Tensor spread = deviation(a);
  return {spread, new_empty(spread.sizes(), a[0].toTensor())};
}

/// grad, self, target: the gradient is made contiguous before the broadcast.
Values loss_backward(const Target&, const Values& a) {
  return {contiguous_like(a[1].toTensor())};
}

/// self, target, reduction (last but one): elementwise, or one number.
Values huber_loss(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  if (a[2].toInt() != at::Reduction::None) return {new_empty({}, input)};
  const auto iterator = at::TensorIteratorConfig()
                            .add_owned_output(at::Tensor())
                            .add_owned_const_input(input)
                            .add_owned_const_input(a[1].toTensor())
                            .promote_inputs_to_common_dtype(true)
                            .build();
  return {iterator.output(0)};
}

/// self, target, weight, reduction
Values binary_cross_entropy(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  if (a[3].toInt() != at::Reduction::None) return {new_empty({}, input)};
  return {preserved_like(input)};
}
Values binary_cross_entropy_backward(const Target&, const Values& a) {
  return {preserved_like(a[1].toTensor())};
}

Sizes pooled_sizes(const at::Tensor& input, const Sizes& output) {
  TORCH_CHECK(input.dim() == 3 || input.dim() == 4,
              "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got ",
              input.sizes());
  Sizes sizes = input.sizes().vec();
  std::copy(output.begin(), output.end(), sizes.end() - 2);
  return sizes;
}
Values adaptive_pool(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {new_empty(
      pooled_sizes(input, a[1].toIntVector()), input, std::nullopt, input.suggest_memory_format())};
}
Values adaptive_pool_backward(const Target& target, const Values& a) {
  const at::Tensor input = a[1].toTensor();
  return {is_cuda(target) ? contiguous_like(input) : suggested_like(input)};
}

/// self (N, C, H, W), target, weight, reduction, ignore_index
Values nll_loss2d(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const Sizes sizes = a[3].toInt() == at::Reduction::None
                          ? Sizes{input.size(0), input.size(2), input.size(3)}
                          : Sizes{};
  return {new_empty(sizes, input), new_empty({}, input)};
}
Values nll_loss2d_backward(const Target&, const Values& a) {
  return {contiguous_like(a[1].toTensor())};
}

}  // namespace

const Rules kReductionRules = {
    {"aten::max", &scalar_of_same_dtype},
    {"aten::min", &scalar_of_same_dtype},
    {"aten::dot", &scalar_of_same_dtype},
    {"aten::prod", &product},
    {"aten::std.correction", &deviation_alone},
    {"aten::var.correction", &deviation_alone},
    {"aten::std_mean.correction", &deviation_and_mean},
    {"aten::var_mean.correction", &deviation_and_mean},
    {"aten::mse_loss_backward", &loss_backward},
    {"aten::smooth_l1_loss_backward", &loss_backward},
    {"aten::huber_loss_backward", &loss_backward},
    {"aten::huber_loss", &huber_loss},
    {"aten::binary_cross_entropy", &binary_cross_entropy},
    {"aten::binary_cross_entropy_backward", &binary_cross_entropy_backward},
    {"aten::_adaptive_avg_pool2d", &adaptive_pool},
    {"aten::_adaptive_avg_pool2d_backward", &adaptive_pool_backward},
    {"aten::nll_loss2d_forward", &nll_loss2d},
    {"aten::nll_loss2d_backward", &nll_loss2d_backward},
};

}  // namespace elixir::capture
