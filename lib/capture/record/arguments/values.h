// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: what LibTorch hands to a call. Here: boxed values, one way to visit and to
// replace the tensors inside them, and the correspondence of LibTorch's dtypes and devices with
// ours.

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include "core/error.h"
#include "program/program.h"

namespace elixir::capture {

using Values = std::vector<c10::IValue>;
using Sizes = std::vector<std::int64_t>;

/// True for every list of tensors and None, except `Tensor[]` itself. TorchScript passes
/// `Tensor?[]` as a generic list whose element type may differ from Optional[Tensor].
[[nodiscard]] bool is_optional_tensors(const c10::IValue& value);
[[nodiscard]] std::vector<std::optional<at::Tensor>> optional_tensors(const c10::IValue& value);
/// Undefined when the value is None.
[[nodiscard]] at::Tensor tensor_or_undefined(const c10::IValue& value);

/// Calls `visit(const at::Tensor&)` for every defined tensor inside `value`.
template <class Visit>
void for_each_tensor(const c10::IValue& value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (tensor.defined()) visit(tensor);
    }
  } else if (is_optional_tensors(value)) {
    for (const auto& tensor : optional_tensors(value)) {
      if (tensor) visit(*tensor);
    }
  }
}

/// `value` with every defined tensor replaced by `replace(tensor)`.
template <class Replace>
c10::IValue map_tensors(const c10::IValue& value, Replace replace) {
  if (value.isTensor())
    return value.toTensor().defined() ? replace(value.toTensor()) : at::Tensor();
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(tensor.defined() ? replace(tensor) : tensor);
    }
    return list;
  }
  if (is_optional_tensors(value)) {
    c10::List<std::optional<at::Tensor>> list;
    for (const auto& tensor : optional_tensors(value)) {
      list.push_back(tensor ? std::optional<at::Tensor>(replace(*tensor)) : std::nullopt);
    }
    return list;
  }
  return value;
}

/// kUnsupportedModel: a dtype that a program cannot hold (quantised, float8, …).
class UnheldDType : public Error {
 public:
  explicit UnheldDType(at::ScalarType type);
  /// LibTorch's name of it.
  [[nodiscard]] const char* dtype() const { return dtype_; }

 private:
  const char* dtype_;
};
/// The help of such errors.
inline constexpr const char* kOtherDTypes =
    "programs hold float16, bfloat16, float32, float64, int8 to int64, uint8, uint64, bool, "
    "complex64 and complex128";

/// Throws UnheldDType.
[[nodiscard]] program::DType to_dtype(at::ScalarType type);
[[nodiscard]] c10::Device device_of(const program::Target& target);

/// An empty meta tensor with the same geometry and dtype, without gradient. Keeps the
/// wrapped-number flag.
[[nodiscard]] at::Tensor to_meta(const at::Tensor& tensor);

}  // namespace elixir::capture
