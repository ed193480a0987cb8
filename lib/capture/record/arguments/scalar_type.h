// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Converts between program dtypes and LibTorch's scalar types.

#include <optional>

#include <c10/core/ScalarType.h>

#include "program/program.h"

namespace elixir::capture {

[[nodiscard]] c10::ScalarType scalar_type(program::DType dtype);
/// nullopt for types that programs lack (quantized, 8-bit floats, …).
[[nodiscard]] std::optional<program::DType> dtype_of(c10::ScalarType type);

}  // namespace elixir::capture
