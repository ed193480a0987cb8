// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Access to the arguments of one ATen call by the names of its schema: `call.tensor("weight")` is
// clearer than `arguments[1].toTensor()`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "capture/record/arguments/values.h"

namespace elixir::capture {

/// A view; the schema and the arguments must outlive it. Every name must be in the schema. Any
/// other name is a bug and throws kInternal. A value of another type than requested throws
/// c10::Error.
class Call {
 public:
  /// `arguments` must have as many entries as the schema.
  Call(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments);
  Call(const c10::FunctionSchema& schema, Values&& arguments) = delete;

  [[nodiscard]] std::size_t position(std::string_view name) const;
  [[nodiscard]] const c10::IValue& value(std::string_view name) const;

  [[nodiscard]] bool is_none(std::string_view name) const { return value(name).isNone(); }
  [[nodiscard]] const at::Tensor& tensor(std::string_view name) const;
  [[nodiscard]] at::Tensor tensor_or_undefined(std::string_view name) const;  ///< for None
  [[nodiscard]] std::vector<at::Tensor> tensors(std::string_view name) const;
  [[nodiscard]] std::vector<std::optional<at::Tensor>> optional_tensors(
      std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const { return value(name).toInt(); }
  [[nodiscard]] Sizes integers(std::string_view name) const { return value(name).toIntVector(); }
  [[nodiscard]] Sizes integers_or_empty(std::string_view name) const;  ///< for None
  [[nodiscard]] double number(std::string_view name) const { return value(name).toDouble(); }
  [[nodiscard]] std::optional<double> optional_number(std::string_view name) const;
  /// A number of any type.
  [[nodiscard]] at::Scalar scalar(std::string_view name) const { return value(name).toScalar(); }
  [[nodiscard]] bool flag(std::string_view name) const { return value(name).toBool(); }
  [[nodiscard]] c10::List<bool> flags(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> optional_text(std::string_view name) const;
  [[nodiscard]] at::ScalarType dtype(std::string_view name) const;
  [[nodiscard]] at::ScalarType dtype_or(std::string_view name, at::ScalarType otherwise) const;
  [[nodiscard]] at::MemoryFormat memory_format(std::string_view name) const;

 private:
  const c10::FunctionSchema& schema_;
  c10::ArrayRef<c10::IValue> arguments_;
};

}  // namespace elixir::capture
