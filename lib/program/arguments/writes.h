// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes that outputs do not show: batch norms in training update running statistics, and noise is
// kept in an argument. A storage's version grows with such a call too; the version after it appears
// first among the arguments of a later call.

#include <array>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace elixir::program {

/// Whether an operator of this name updates statistics, of which its schema says nothing, when its
/// argument `training` is true.
[[nodiscard]] bool updates_statistics(std::string_view name);
/// The arguments that hold them.
inline constexpr std::array<std::string_view, 2> kStatistics{"running_mean", "running_var"};

/// The tensors that a call writes without returning them, as it sees them.
[[nodiscard]] std::vector<TensorRef> unreturned_writes(const Operator& op);

}  // namespace elixir::program
