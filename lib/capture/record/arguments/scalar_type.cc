// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/arguments/scalar_type.h"

#include <array>
#include <utility>

#include "core/error.h"

namespace elixir::capture {
namespace {

using c10::ScalarType;
using program::DType;

constexpr std::array<std::pair<ScalarType, DType>, 13> kDTypes{{
    {ScalarType::Float, DType::kFloat32},
    {ScalarType::Double, DType::kFloat64},
    {ScalarType::Half, DType::kFloat16},
    {ScalarType::BFloat16, DType::kBFloat16},
    {ScalarType::Long, DType::kInt64},
    {ScalarType::Int, DType::kInt32},
    {ScalarType::Short, DType::kInt16},
    {ScalarType::Char, DType::kInt8},
    {ScalarType::Byte, DType::kUInt8},
    {ScalarType::UInt64, DType::kUInt64},
    {ScalarType::Bool, DType::kBool},
    {ScalarType::ComplexFloat, DType::kComplex64},
    {ScalarType::ComplexDouble, DType::kComplex128},
}};

}  // namespace

ScalarType scalar_type(DType dtype) {
  for (const auto& [theirs, ours] : kDTypes) {
    if (ours == dtype) return theirs;
  }
  throw Error(ErrorCode::kInternal, "a dtype without a LibTorch scalar type");
}

std::optional<DType> dtype_of(ScalarType type) {
  for (const auto& [theirs, ours] : kDTypes) {
    if (theirs == type) return ours;
  }
  return std::nullopt;
}

}  // namespace elixir::capture
