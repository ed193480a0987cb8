// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/arguments/values.h"

#include <string>

#include <ATen/ops/empty_strided.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"

namespace elixir::capture {
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

UnheldDType::UnheldDType(at::ScalarType type)
    : Error(ErrorCode::kUnsupportedModel,
            "a tensor has dtype {}, which programs do not hold",
            c10::toString(type)),
      dtype_(c10::toString(type)) {}

program::DType to_dtype(at::ScalarType type) {
  if (const auto dtype = dtype_of(type)) return *dtype;
  throw UnheldDType(type);
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
  meta._set_conj(tensor.is_conj());
  meta._set_neg(tensor.is_neg());
  return meta;
}

}  // namespace elixir::capture
