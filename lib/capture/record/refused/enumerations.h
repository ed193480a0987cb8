// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// TorchScript's dtypes, layouts and memory formats are plain integers, which LibTorch takes as they
// come and uses as positions in its tables.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

namespace elixir::capture {

/// Throws a c10::Error for an argument that is none of its kind: "there is no dtype 100".
void check_enumerations(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments);

}  // namespace elixir::capture
