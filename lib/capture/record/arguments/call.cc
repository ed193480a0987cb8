// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/arguments/call.h"

#include "core/error.h"

namespace elixir::capture {

Call::Call(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments)
    : schema_(schema), arguments_(arguments) {
  require(schema.arguments().size() == arguments.size(),
          "a call has as many arguments as its schema");
}

// LibTorch compares the names one by one. No operator has so many that a table would be faster.
std::size_t Call::position(std::string_view name) const {
  if (const auto found = schema_.argumentIndexWithName(name)) {
    return static_cast<std::size_t>(*found);
  }
  throw Error(ErrorCode::kInternal,
              "{} has no argument `{}`",
              c10::toString(schema_.operator_name()),
              name);
}

const c10::IValue& Call::value(std::string_view name) const {
  return arguments_[position(name)];
}

const at::Tensor& Call::tensor(std::string_view name) const {
  return value(name).toTensor();
}

at::Tensor Call::tensor_or_undefined(std::string_view name) const {
  return capture::tensor_or_undefined(value(name));
}

std::vector<at::Tensor> Call::tensors(std::string_view name) const {
  return value(name).toTensorVector();
}

std::vector<std::optional<at::Tensor>> Call::optional_tensors(std::string_view name) const {
  return capture::optional_tensors(value(name));
}

Sizes Call::integers_or_empty(std::string_view name) const {
  const c10::IValue& given = value(name);
  return given.isNone() ? Sizes{} : given.toIntVector();
}

std::optional<double> Call::optional_number(std::string_view name) const {
  const c10::IValue& given = value(name);
  return given.isNone() ? std::nullopt : std::optional<double>(given.toDouble());
}

c10::List<bool> Call::flags(std::string_view name) const {
  return value(name).toBoolList();
}

std::optional<std::string> Call::optional_text(std::string_view name) const {
  return value(name).toOptional<std::string>();
}

at::ScalarType Call::dtype(std::string_view name) const {
  return value(name).toScalarType();
}

at::ScalarType Call::dtype_or(std::string_view name, at::ScalarType otherwise) const {
  const c10::IValue& given = value(name);
  return given.isNone() ? otherwise : given.toScalarType();
}

at::MemoryFormat Call::memory_format(std::string_view name) const {
  return value(name).toMemoryFormat();
}

}  // namespace elixir::capture
