// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The form of a call: what decides whether LibTorch copies its arguments or chooses another kernel.
// A recorded call is evidence for all calls of its form whose tensors 32-bit offsets reach,
// whatever their sizes.

#include <string>

#include "program/program.h"

namespace elixir::operators {

/// The name and overload of a call: "aten::cat", "aten::where.self".
[[nodiscard]] std::string full_name(const program::Operator& op);

/// The name, and of every tensor argument and result its dtype, the order of its elements in memory
/// and whether it is on the host; flags; for softmax whether its dimension is the last one; for
/// attention its width, its dropout and whether queries are grouped. Where LibTorch chooses the
/// kernel by size (topk, cumsum), all sizes belong to the form.
///   aten::_softmax(bfloat16, last, false) -> bfloat16
[[nodiscard]] std::string call_form(const program::Operator& op, const program::Program& program);

}  // namespace elixir::operators
