// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of elementwise operators without a Meta kernel in C++.
#include <ATen/ops/result_type.h>

#include "capture/meta/meta_kernels.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

using program::Target;

Values unary(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {iterated({input}, input.scalar_type())};
}
Values unary_bool(const Target&, const Call& call) {
  return {iterated({call.tensor("self")}, at::kBool)};
}

/// The result for two tensors that broadcast, with the promoted dtype.
Values promoted(const at::Tensor& left, const at::Tensor& right) {
  return {iterated({left, right}, at::result_type(left, right))};
}
Values binary(const Target&, const Call& call) {
  return promoted(call.tensor("self"), call.tensor("other"));
}
Values binary_backward(const Target&, const Call& call) {
  return promoted(call.tensor("grad_output"), call.tensor("self"));
}
Values subtracted_from_other(const Target&, const Call& call) {
  return promoted(call.tensor("other"), call.tensor("self"));
}
Values binary_bool(const Target&, const Call& call) {
  return {iterated({call.tensor("self"), call.tensor("other")}, at::kBool)};
}

/// One tensor. Integers become floating point.
Values floating(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {iterated({input}, floating_dtype_of(input))};
}
/// Complex numbers become real.
Values real_part(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {iterated({input}, at::toRealValueType(input.scalar_type()))};
}
Values angle(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {iterated({input}, at::toRealValueType(floating_dtype_of(input)))};
}

/// Complex numbers of two real ones each.
Values complex_of(const at::Tensor& first, const at::Tensor& second) {
  TORCH_CHECK(first.scalar_type() == second.scalar_type(),
              "Expected object of scalar type ",
              first.scalar_type(),
              " but got scalar type ",
              second.scalar_type(),
              " for second argument");
  return {iterated({first, second}, c10::toComplexType(first.scalar_type()))};
}
Values cartesian(const Target&, const Call& call) {
  return complex_of(call.tensor("real"), call.tensor("imag"));
}
Values polar(const Target&, const Call& call) {
  return complex_of(call.tensor("abs"), call.tensor("angle"));
}

/// Number first, tensor second.
Values scalar_and_tensor(const Target&, const Call& call) {
  const at::Tensor tensor = call.tensor("other");
  return {iterated({new_empty({}, tensor), tensor}, at::result_type(call.scalar("self"), tensor))};
}
/// Tensor first, number second.
Values tensor_and_scalar(const Target&, const Call& call) {
  const at::Tensor tensor = call.tensor("self");
  return {iterated({tensor}, at::result_type(tensor, call.scalar("other")))};
}

/// The CPU keeps exp(-|x|); CUDA computes it again.
Values log_sigmoid(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("self");
  if (is_cuda(target)) return {preserved_like(input), new_empty({0}, input)};
  return {contiguous_like(input), contiguous_like(input)};
}
Values log_sigmoid_backward(const Target&, const Call& call) {
  return {preserved_like(call.tensor("grad_output"))};
}

/// The weight's gradient is summed by autograd afterwards.
Values prelu_backward(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  const at::Tensor weight = call.tensor("weight");
  const std::vector<at::Tensor> inputs{input, weight, call.tensor("grad_output")};
  return {iterated(inputs, input.scalar_type()), iterated(inputs, weight.scalar_type())};
}

/// One kernel on CUDA; products with the mask on the CPU.
Values native_dropout(const Target& target, const Call& call) {
  const at::Tensor input = call.tensor("input");
  const at::Tensor mask = preserved_like(input, at::kBool);
  return {is_cuda(target) ? preserved_like(input) : iterated({input, mask}, input.scalar_type()),
          mask};
}
Values native_dropout_backward(const Target& target, const Call& call) {
  const at::Tensor gradient = call.tensor("grad_output");
  return {is_cuda(target) ? suggested_like(gradient)
                          : iterated({gradient, call.tensor("mask")}, gradient.scalar_type())};
}
Values fused_dropout(const Target&, const Call& call) {
  const at::Tensor input = call.tensor("self");
  return {preserved_like(input), preserved_like(input, at::kByte)};
}

Values equal(const Target&, const Call& call) {
  const std::optional<bool> known = known_equal(call.tensor("self"), call.tensor("other"));
  if (!known) throw Error(ErrorCode::kDataDependent, "aten::equal compares values of the step");
  return {*known};
}

}  // namespace

std::optional<bool> known_equal(const at::Tensor& first, const at::Tensor& second) {
  if (first.sizes() != second.sizes()) return false;
  const bool one = first.is_alias_of(second) && first.storage_offset() == second.storage_offset() &&
                   first.strides() == second.strides() && first.dtype() == second.dtype();
  return one || first.numel() == 0 ? std::optional<bool>(true) : std::nullopt;
}

const Rules kElementwiseRules = {
    {"aten::_fused_dropout", &fused_dropout},
    {"aten::_prelu_kernel", &preserved_as_self},
    {"aten::_prelu_kernel_backward", &prelu_backward},
    {"aten::abs", &real_part},
    {"aten::angle", &angle},
    {"aten::complex", &cartesian},
    {"aten::equal", &equal},
    {"aten::flip", &preserved_as_self},
    {"aten::floor_divide", &binary},
    {"aten::floor_divide.Scalar", &tensor_and_scalar},
    {"aten::glu_backward", &contiguous_as_self},
    {"aten::hardswish", &unary},
    {"aten::hardswish_backward", &binary_backward},
    {"aten::hardtanh", &preserved_as_self},
    {"aten::hardtanh_backward", &binary_backward},
    {"aten::isnan", &unary_bool},
    {"aten::log_sigmoid_backward", &log_sigmoid_backward},
    {"aten::log_sigmoid_forward", &log_sigmoid},
    {"aten::logical_and", &binary_bool},
    {"aten::logical_not", &unary_bool},
    {"aten::logical_or", &binary_bool},
    {"aten::logical_xor", &binary_bool},
    {"aten::logit", &floating},
    {"aten::mish_backward", &binary_backward},
    {"aten::nan_to_num", &preserved_as_self},
    {"aten::native_dropout", &native_dropout},
    {"aten::native_dropout_backward", &native_dropout_backward},
    {"aten::polar", &polar},
    {"aten::relu", &unary},
    {"aten::remainder.Scalar_Tensor", &scalar_and_tensor},
    {"aten::rrelu_with_noise", &contiguous_as_self},
    {"aten::rsub.Tensor", &subtracted_from_other},
};

}  // namespace elixir::capture
