// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Geometry of elementwise operators without a Meta kernel in C++.
#include <ATen/TensorIterator.h>
#include <ATen/ops/result_type.h>

#include "capture/geometry.h"

namespace elixir::capture {
namespace {

using program::Target;

Values preserved(const Target&, const Values& a) {
  return {preserved_like(a[0].toTensor())};
}
Values itself(const Target&, const Values& a) {
  return {a[0]};
}

Values preserved_bool(const Target&, const Values& a) {
  return {preserved_like(a[0].toTensor(), at::kBool)};
}

/// The iterator's result for two tensors that broadcast; `dtype` is that of their promotion.
Values broadcast(const at::Tensor& left, const at::Tensor& right) {
  const auto iterator =
      at::TensorIteratorConfig()
          .check_all_same_dtype(false)
          .declare_static_dtype_and_device(at::result_type(left, right), c10::kMeta)
          .add_owned_output(at::Tensor())
          .add_owned_const_input(left)
          .add_owned_const_input(right)
          .build();
  return {iterator.output(0)};
}
Values binary(const Target&, const Values& a) {
  return broadcast(a[0].toTensor(), a[1].toTensor());
}

/// Number first, tensor second.
Values scalar_and_tensor(const Target&, const Values& a) {
  const at::Tensor tensor = a[1].toTensor();
  return {preserved_like(tensor, at::result_type(a[0].toScalar(), tensor))};
}
/// Tensor first, number second.
Values tensor_and_scalar(const Target&, const Values& a) {
  const at::Tensor tensor = a[0].toTensor();
  return {preserved_like(tensor, at::result_type(tensor, a[1].toScalar()))};
}

/// Gradient first, then the forward's input, whose layout the gated halves fill.
Values contiguous_as_input(const Target&, const Values& a) {
  return {contiguous_like(a[1].toTensor())};
}

Values native_dropout(const Target&, const Values& a) {
  const at::Tensor input = a[0].toTensor();
  return {preserved_like(input), preserved_like(input, at::kBool)};
}

Values native_dropout_backward(const Target&, const Values& a) {
  return {suggested_like(a[0].toTensor())};
}

/// Without data two tensors are equal when they are one.
Values identical(const Target&, const Values& a) {
  return {a[0].toTensor().is_same(a[1].toTensor())};
}

}  // namespace

const Rules kElementwiseRules = {
    {"aten::abs", &preserved},
    {"aten::relu", &preserved},
    {"aten::relu_", &itself},
    {"aten::native_dropout", &native_dropout},
    {"aten::native_dropout_backward", &native_dropout_backward},
    {"aten::equal", &identical},
    {"aten::flip", &preserved},
    {"aten::isnan", &preserved_bool},
    {"aten::hardtanh", &preserved},
    {"aten::hardtanh_", &itself},
    {"aten::hardswish", &preserved},
    {"aten::hardswish_", &itself},
    {"aten::hardtanh_backward", &binary},
    {"aten::hardswish_backward", &binary},
    {"aten::floor_divide", &binary},
    {"aten::floor_divide.Scalar", &tensor_and_scalar},
    {"aten::rsub.Tensor", &binary},
    {"aten::remainder.Scalar_Tensor", &scalar_and_tensor},
    {"aten::glu_backward", &contiguous_as_input},
};

}  // namespace elixir::capture
