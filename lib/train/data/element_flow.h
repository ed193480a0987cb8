// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where the elements of a tensor go unchanged: for what is read off the program about its inputs.

#include <string>

#include "program/program.h"

namespace elixir::train {

/// Calls whose result holds elements of their first tensor argument unchanged (apart from padding).
[[nodiscard]] bool copies_elements(const std::string& name);

/// The call's first argument; nullptr where it is no tensor.
[[nodiscard]] const program::TensorRef* first_tensor(const program::Operator& op);

/// Whether the call is a cross-entropy's last part, whose argument `target` holds the classes.
[[nodiscard]] bool is_class_loss(const program::Operator& op);

}  // namespace elixir::train
