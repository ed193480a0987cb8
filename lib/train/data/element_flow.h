// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where the elements of a tensor go unchanged: for what is read off the program about its inputs.

#include <cstddef>
#include <string>

#include "program/program.h"

namespace elixir::train {

/// Calls whose result holds elements of their first tensor argument unchanged (apart from padding).
[[nodiscard]] bool copies_elements(const std::string& name);

/// The tensor at an argument's position; nullptr where there is none.
[[nodiscard]] const program::TensorRef* tensor_at(const program::Operator& op,
                                                  std::size_t argument);

/// Whether the call is a cross-entropy's last part, whose second argument is the target.
[[nodiscard]] bool is_class_loss(const program::Operator& op);

}  // namespace elixir::train
