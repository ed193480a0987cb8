// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Operators that can write their result to memory that the caller names.

#include "program/program.h"

namespace elixir::operators {

/// Whether LibTorch has an overload `out` of the operator, which takes the same arguments and then
/// the result. It writes the same bits, and asks for the same memory but for the result.
[[nodiscard]] inline bool has_out_variant(const program::Operator& op) {
  return op.overload.empty() && (op.name == "aten::mm" || op.name == "aten::bmm");
}

}  // namespace elixir::operators
