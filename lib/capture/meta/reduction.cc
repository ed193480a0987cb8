// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of reductions, scans and selections.
#include <ATen/WrapDimUtils.h>

#include "capture/meta/meta_kernels.h"

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
  const Sizes reduced = a[1].isNone() ? Sizes{} : a[1].toIntVector();
  return new_empty(reduced_sizes(input, reduced, a[3].toBool()),
                   input,
                   at::toRealValueType(input.scalar_type()));
}
Values deviation_alone(const Target&, const Values& a) {
  return {deviation(a)};
}
Values deviation_and_mean(const Target&, const Values& a) {
  const at::Tensor spread = deviation(a);
  return {spread, new_empty(spread.sizes(), a[0].toTensor())};
}

/// self, dim, keepdim, dtype
Values nansum(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const Sizes reduced = a[1].isNone() ? Sizes{} : a[1].toIntVector();
  at::ScalarType dtype = at::isIntegralType(input.scalar_type(), /*includeBool=*/true)
                             ? at::kLong
                             : input.scalar_type();
  if (!a[3].isNone()) dtype = a[3].toScalarType();
  return {new_empty(reduced_sizes(input, reduced, a[2].toBool()), input, dtype)};
}

/// self, dim
Values count_nonzero(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {new_empty(reduced_sizes(input, a[1].toIntVector(), false), input, at::kLong)};
}

Values trace(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  TORCH_CHECK(input.dim() == 2, "trace: expected a matrix, but got tensor with dim ", input.dim());
  const bool integral = at::isIntegralType(input.scalar_type(), /*includeBool=*/true);
  return {new_empty({}, input, integral ? at::kLong : input.scalar_type())};
}

/// Values and their indices along one dimension.
Values selected(const at::Tensor& input, std::int64_t dimension, bool keep) {
  const Sizes sizes = input.dim() == 0 ? Sizes{} : reduced_sizes(input, {dimension}, keep);
  return {new_empty(sizes, input), new_empty(sizes, input, at::kLong)};
}
/// self, dim, keepdim
Values select(const Target&, const Values& a) {
  return selected(a[0].toTensor(), a[1].toInt(), a[2].toBool());
}
/// self, k, dim, keepdim
Values kth_value(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const std::int64_t size =
      input.dim() == 0 ? 1 : input.size(at::maybe_wrap_dim(a[2].toInt(), input.dim()));
  TORCH_CHECK(a[1].toInt() >= 1 && a[1].toInt() <= size,
              "kthvalue(): selected number k out of range for dimension ",
              a[2].toInt());
  return selected(input, a[2].toInt(), a[3].toBool());
}

/// self, values, indices: written, nothing returned.
Values nothing(const Target&, const Values&) {
  return {};
}

/// self, bins
Values histogram(const Target&, const Values& a) {
  return {new_empty({a[1].toInt()}, a[0].toTensor())};
}

Values min_and_max(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {new_empty({}, input), new_empty({}, input)};
}
Values min_and_max_of_dimension(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const Sizes sizes = reduced_sizes(input, {a[1].toInt()}, a[2].toBool());
  return {new_empty(sizes, input), new_empty(sizes, input)};
}

}  // namespace

const Rules kReductionRules = {
    {"aten::_aminmax", &min_and_max},
    {"aten::_aminmax.dim", &min_and_max_of_dimension},
    {"aten::_cummax_helper", &nothing},
    {"aten::_cummin_helper", &nothing},
    {"aten::_logcumsumexp", &contiguous_as_first},
    {"aten::count_nonzero.dim_IntList", &count_nonzero},
    {"aten::histc", &histogram},
    {"aten::kthvalue", &kth_value},
    {"aten::max", &scalar_of_same_dtype},
    {"aten::median", &scalar_of_same_dtype},
    {"aten::median.dim", &select},
    {"aten::min", &scalar_of_same_dtype},
    {"aten::mode", &select},
    {"aten::nanmedian", &scalar_of_same_dtype},
    {"aten::nanmedian.dim", &select},
    {"aten::nansum", &nansum},
    {"aten::prod", &product},
    {"aten::std.correction", &deviation_alone},
    {"aten::std_mean.correction", &deviation_and_mean},
    {"aten::trace", &trace},
    {"aten::var.correction", &deviation_alone},
    {"aten::var_mean.correction", &deviation_and_mean},
};

}  // namespace elixir::capture
