// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes the one call that takes the place of a group of operators.

#include <functional>
#include <optional>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

struct FusedCall {
  program::Operator op;
  std::vector<program::StorageId> gone;  ///< made by the group, and not a result of it
};

/// Whether a storage that the group makes is needed outside of it.
using NeededOutside = std::function<bool(program::StorageId)>;

/// `members`, ascending, as one call over `shape`; nullopt: they do not fit together, or the call
/// would be too large. A result has the last version that the group gives its storage.
[[nodiscard]] std::optional<FusedCall> fused_call(const program::Program& program,
                                                  const std::vector<program::OperatorId>& members,
                                                  const program::Ints& shape,
                                                  const NeededOutside& needed_outside);

}  // namespace elixir::edit
