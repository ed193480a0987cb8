// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Program dtypes and LibTorch's scalar types, one to one.

#include <optional>

#include <c10/core/ScalarType.h>

#include "program/program.h"

namespace elixir::runtime {

[[nodiscard]] constexpr c10::ScalarType scalar_type_of(program::DType dtype) {
  switch (dtype) {
    case program::DType::kFloat32:
      return c10::ScalarType::Float;
    case program::DType::kFloat64:
      return c10::ScalarType::Double;
    case program::DType::kFloat16:
      return c10::ScalarType::Half;
    case program::DType::kBFloat16:
      return c10::ScalarType::BFloat16;
    case program::DType::kInt64:
      return c10::ScalarType::Long;
    case program::DType::kInt32:
      return c10::ScalarType::Int;
    case program::DType::kInt16:
      return c10::ScalarType::Short;
    case program::DType::kInt8:
      return c10::ScalarType::Char;
    case program::DType::kUInt8:
      return c10::ScalarType::Byte;
    case program::DType::kBool:
      return c10::ScalarType::Bool;
    case program::DType::kComplex64:
      return c10::ScalarType::ComplexFloat;
    case program::DType::kComplex128:
      return c10::ScalarType::ComplexDouble;
  }
  return c10::ScalarType::Undefined;
}

/// nullopt for types that programs do not have (quantized, 8-bit floats, …).
[[nodiscard]] constexpr std::optional<program::DType> dtype_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return program::DType::kFloat32;
    case c10::ScalarType::Double:
      return program::DType::kFloat64;
    case c10::ScalarType::Half:
      return program::DType::kFloat16;
    case c10::ScalarType::BFloat16:
      return program::DType::kBFloat16;
    case c10::ScalarType::Long:
      return program::DType::kInt64;
    case c10::ScalarType::Int:
      return program::DType::kInt32;
    case c10::ScalarType::Short:
      return program::DType::kInt16;
    case c10::ScalarType::Char:
      return program::DType::kInt8;
    case c10::ScalarType::Byte:
      return program::DType::kUInt8;
    case c10::ScalarType::Bool:
      return program::DType::kBool;
    case c10::ScalarType::ComplexFloat:
      return program::DType::kComplex64;
    case c10::ScalarType::ComplexDouble:
      return program::DType::kComplex128;
    default:
      return std::nullopt;
  }
}

}  // namespace elixir::runtime
