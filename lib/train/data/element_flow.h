// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Traces where the elements of a tensor go unchanged, to learn how a program uses its inputs.

#include <string>

#include "program/program.h"

namespace elixir::train {

/// Whether the call's result holds the elements of its first tensor argument unchanged, padding
/// aside.
[[nodiscard]] bool copies_elements(const std::string& name);

/// The call's first argument; nullptr when it is not a tensor.
[[nodiscard]] const program::TensorRef* first_tensor(const program::Operator& op);

/// Whether the call is the last part of a cross-entropy, whose argument `target` holds the classes.
[[nodiscard]] bool is_class_loss(const program::Operator& op);

}  // namespace elixir::train
