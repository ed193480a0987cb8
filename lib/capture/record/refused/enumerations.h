// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Checks enumeration arguments. TorchScript's dtypes, layouts and memory formats are plain
// integers. LibTorch uses them unchecked as positions in its tables.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

namespace elixir::capture {

/// Throws a c10::Error for a value that does not exist: "there is no dtype 100".
void check_enumerations(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments);

}  // namespace elixir::capture
