// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of elementwise operators without a Meta kernel in C++.
#include <ATen/ops/result_type.h>

#include "capture/meta/meta_kernels.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

using program::Target;

Values unary(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {iterated({input}, input.scalar_type())};
}
Values unary_bool(const Target&, const Values& a) {
  return {iterated({a[0].toTensor()}, at::kBool)};
}

/// The result for two tensors that broadcast, in the dtype of their promotion.
Values binary(const Target&, const Values& a) {
  const at::Tensor left = a[0].toTensor();
  const at::Tensor right = a[1].toTensor();
  return {iterated({left, right}, at::result_type(left, right))};
}
/// Subtraction from the second argument.
Values reversed(const Target& target, const Values& a) {
  return binary(target, {a[1], a[0]});
}
Values binary_bool(const Target&, const Values& a) {
  return {iterated({a[0].toTensor(), a[1].toTensor()}, at::kBool)};
}

/// One tensor; integers become floating point.
Values floating(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {iterated({input}, floating_dtype_of(input))};
}
/// Of complex numbers real ones.
Values real_part(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {iterated({input}, at::toRealValueType(input.scalar_type()))};
}
Values angle(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {iterated({input}, at::toRealValueType(floating_dtype_of(input)))};
}

/// Number first, tensor second.
Values scalar_and_tensor(const Target&, const Values& a) {
  const at::Tensor tensor = a[1].toTensor();
  return {iterated({new_empty({}, tensor), tensor}, at::result_type(a[0].toScalar(), tensor))};
}
/// Tensor first, number second.
Values tensor_and_scalar(const Target&, const Values& a) {
  const at::Tensor tensor = a[0].toTensor();
  return {iterated({tensor}, at::result_type(tensor, a[1].toScalar()))};
}

/// The CPU keeps exp(-|x|); CUDA computes it again.
Values log_sigmoid(const Target& target, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  if (is_cuda(target)) return {preserved_like(input), new_empty({0}, input)};
  return {contiguous_like(input), contiguous_like(input)};
}

/// gradient, self, weight: the weight's gradient is summed by autograd afterwards.
Values prelu_backward(const Target&, const Values& a) {
  const at::Tensor input = a[1].toTensor();
  const at::Tensor weight = a[2].toTensor();
  const std::vector<at::Tensor> inputs{input, weight, a[0].toTensor()};
  return {iterated(inputs, input.scalar_type()), iterated(inputs, weight.scalar_type())};
}

/// A kernel on CUDA, products with the mask on the CPU.
Values native_dropout(const Target& target, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  const at::Tensor mask = preserved_like(input, at::kBool);
  return {is_cuda(target) ? preserved_like(input) : iterated({input, mask}, input.scalar_type()),
          mask};
}
Values native_dropout_backward(const Target& target, const Values& a) {
  const at::Tensor gradient = a[0].toTensor();
  return {is_cuda(target) ? suggested_like(gradient)
                          : iterated({gradient, a[1].toTensor()}, gradient.scalar_type())};
}
Values fused_dropout(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {preserved_like(input), preserved_like(input, at::kByte)};
}

Values equal(const Target&, const Values& a) {
  const std::optional<bool> known = known_equal(a[0].toTensor(), a[1].toTensor());
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
    {"aten::_prelu_kernel", &preserved_as_first},
    {"aten::_prelu_kernel_backward", &prelu_backward},
    {"aten::abs", &real_part},
    {"aten::angle", &angle},
    {"aten::equal", &equal},
    {"aten::flip", &preserved_as_first},
    {"aten::floor_divide", &binary},
    {"aten::floor_divide.Scalar", &tensor_and_scalar},
    {"aten::glu_backward", &contiguous_as_second},
    {"aten::hardswish", &unary},
    {"aten::hardswish_backward", &binary},
    {"aten::hardtanh", &preserved_as_first},
    {"aten::hardtanh_backward", &binary},
    {"aten::isnan", &unary_bool},
    {"aten::log_sigmoid_backward", &preserved_as_first},
    {"aten::log_sigmoid_forward", &log_sigmoid},
    {"aten::logical_and", &binary_bool},
    {"aten::logical_not", &unary_bool},
    {"aten::logical_or", &binary_bool},
    {"aten::logical_xor", &binary_bool},
    {"aten::logit", &floating},
    {"aten::mish_backward", &binary},
    {"aten::nan_to_num", &preserved_as_first},
    {"aten::native_dropout", &native_dropout},
    {"aten::native_dropout_backward", &native_dropout_backward},
    {"aten::relu", &unary},
    {"aten::remainder.Scalar_Tensor", &scalar_and_tensor},
    {"aten::rrelu_with_noise", &contiguous_as_first},
    {"aten::rsub.Tensor", &reversed},
};

}  // namespace elixir::capture
