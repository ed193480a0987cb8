// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What of a captured program no plan can train. Its memory can be profiled all the same.

#include "program/program.h"

namespace elixir::program {

/// Whether Elixir has kernels that update parameters of the dtype.
[[nodiscard]] bool is_trainable(DType dtype);
/// Whether a model that trains may have the parameter. A frozen one may have any dtype but complex
/// ones.
[[nodiscard]] bool is_trainable(const Parameter& parameter);

/// Throws kUnsupportedModel when the program
/// - has a parameter that is not trainable,
/// - writes a parameter or an input in place: parameters change in updates alone, and an input
///   belongs to whoever gave it.
void refuse_untrainable(const Program& program);

}  // namespace elixir::program
