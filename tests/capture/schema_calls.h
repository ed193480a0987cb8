// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random calls of any operator: draws each argument by its type and name in the schema. Good for
// elementwise operators, reductions and views. An operator with rules of its own between its
// arguments needs a generator (random_calls.h), because LibTorch refuses most of these calls.
// Indices are 0, so that they are in range whatever they index.

#include <ATen/core/function_schema.h>

#include "random_arguments.h"

namespace elixir::capture {

/// LibTorch may refuse the call. Throws c10::Error for an argument of a type that programs lack.
[[nodiscard]] Values draw_by_schema(const c10::FunctionSchema& schema, Random& random);

}  // namespace elixir::capture
