// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/values.h"

#include <array>
#include <string>
#include <utility>

#include <ATen/ops/empty_strided.h>

#include "core/error.h"

namespace elixir::capture {
namespace {

using program::DType;

constexpr std::array<std::pair<at::ScalarType, DType>, 12> kDTypes{{
    {at::kFloat, DType::kFloat32},
    {at::kDouble, DType::kFloat64},
    {at::kHalf, DType::kFloat16},
    {at::kBFloat16, DType::kBFloat16},
    {at::kLong, DType::kInt64},
    {at::kInt, DType::kInt32},
    {at::kShort, DType::kInt16},
    {at::kChar, DType::kInt8},
    {at::kByte, DType::kUInt8},
    {at::kBool, DType::kBool},
    {at::kComplexFloat, DType::kComplex64},
    {at::kComplexDouble, DType::kComplex128},
}};

}  // namespace

bool is_optional_tensors(const c10::IValue& value) {
  if (value.isOptionalTensorList()) return true;
  if (!value.isList() || value.isTensorList() || value.toListRef().empty()) return false;
  bool any_tensor = false;
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isTensor() && !element.isNone()) return false;
    any_tensor |= element.isTensor();
  }
  return any_tensor;
}

std::vector<std::optional<at::Tensor>> optional_tensors(const c10::IValue& value) {
  std::vector<std::optional<at::Tensor>> tensors;
  for (const c10::IValue& element : value.toListRef()) {
    if (element.isTensor() && element.toTensor().defined()) {
      tensors.emplace_back(element.toTensor());
    } else {
      tensors.emplace_back(std::nullopt);
    }
  }
  return tensors;
}

at::Tensor tensor_or_undefined(const c10::IValue& value) {
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

program::DType to_dtype(at::ScalarType type) {
  for (const auto& [theirs, ours] : kDTypes) {
    if (theirs == type) return ours;
  }
  throw Error(
      ErrorCode::kUnsupportedModel,
      std::string("a tensor has dtype ") + c10::toString(type) + ", which programs do not hold");
}

at::ScalarType to_scalar_type(program::DType dtype) {
  for (const auto& [theirs, ours] : kDTypes) {
    if (ours == dtype) return theirs;
  }
  throw Error(ErrorCode::kInternal, "unknown dtype");
}

c10::Device device_of(const program::Target& target) {
  return target.kind == program::Target::Kind::kCpu ? c10::Device(c10::kCPU)
                                                    : c10::Device(c10::kCUDA, 0);
}

at::Tensor to_meta(const at::Tensor& tensor) {
  if (tensor.is_meta()) return tensor;
  at::Tensor meta = at::empty_strided(
      tensor.sizes(), tensor.strides(), tensor.options().device(c10::kMeta).requires_grad(false));
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return meta;
}

}  // namespace elixir::capture
