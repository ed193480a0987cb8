// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of reductions, scans and selections.
#include <ATen/WrapDimUtils.h>

#include "capture/meta/meta_kernels.h"

namespace elixir::capture {
namespace {

using program::Target;

Values scalar_of_same_dtype(const Target&, const Call& call) {
  return {new_empty({}, call.tensor("self"))};
}

/// Integers are multiplied in int64, unless a dtype is given.
Values product(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const at::ScalarType own = at::isIntegralType(input.scalar_type(), /*includeBool=*/true)
                                 ? at::kLong
                                 : input.scalar_type();
  return {new_empty({}, input, call.dtype_or("dtype", own))};
}

at::Tensor deviation(const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes reduced = call.integers_or_empty("dim");
  return new_empty(reduced_sizes(input, reduced, call.flag("keepdim")),
                   input,
                   at::toRealValueType(input.scalar_type()));
}
Values deviation_alone(const Target&, const Call& call) {
  return {deviation(call)};
}
Values deviation_and_mean(const Target&, const Call& call) {
  const at::Tensor spread = deviation(call);
  return {spread, new_empty(spread.sizes(), call.tensor("self"))};
}

Values nansum(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes reduced = call.integers_or_empty("dim");
  const at::ScalarType own = at::isIntegralType(input.scalar_type(), /*includeBool=*/true)
                                 ? at::kLong
                                 : input.scalar_type();
  return {new_empty(
      reduced_sizes(input, reduced, call.flag("keepdim")), input, call.dtype_or("dtype", own))};
}

Values count_nonzero(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {new_empty(reduced_sizes(input, call.integers("dim"), false), input, at::kLong)};
}

Values trace(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  TORCH_CHECK(input.dim() == 2, "trace: expected a matrix, but got tensor with dim ", input.dim());
  const bool integral = at::isIntegralType(input.scalar_type(), /*includeBool=*/true);
  return {new_empty({}, input, integral ? at::kLong : input.scalar_type())};
}

/// Values and their indices along one dimension.
Values selected(const at::Tensor& input, std::int64_t dimension, bool keep) {
  const Sizes sizes = input.dim() == 0 ? Sizes{} : reduced_sizes(input, {dimension}, keep);
  return {new_empty(sizes, input), new_empty(sizes, input, at::kLong)};
}
Values select(const Target&, const Call& call) {
  return selected(call.tensor("self"), call.integer("dim"), call.flag("keepdim"));
}
Values kth_value(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const std::int64_t size =
      input.dim() == 0 ? 1 : input.size(at::maybe_wrap_dim(call.integer("dim"), input.dim()));
  TORCH_CHECK(call.integer("k") >= 1 && call.integer("k") <= size,
              "kthvalue(): selected number k out of range for dimension ",
              call.integer("dim"));
  return selected(input, call.integer("dim"), call.flag("keepdim"));
}

/// For operators that return nothing of what they write.
Values nothing(const Target&, const Call&) {
  return {};
}

Values histogram(const Target&, const Call& call) {
  return {new_empty({call.integer("bins")}, call.tensor("self"))};
}

Values min_and_max(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {new_empty({}, input), new_empty({}, input)};
}
Values min_and_max_of_dimension(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const Sizes sizes = reduced_sizes(input, {call.integer("dim")}, call.flag("keepdim"));
  return {new_empty(sizes, input), new_empty(sizes, input)};
}

}  // namespace

const Rules kReductionRules = {
    {"aten::_aminmax", &min_and_max},
    {"aten::_aminmax.dim", &min_and_max_of_dimension},
    {"aten::_cummax_helper", &nothing},
    {"aten::_cummin_helper", &nothing},
    {"aten::_logcumsumexp", &contiguous_as_self},
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
