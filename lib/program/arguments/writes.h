// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes that a call's outputs do not show: batch norms in training update running statistics, and
// some operators write noise into an argument. The write increments the storage's version, too, and
// the new version first appears among the arguments of a later call.

#include <array>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace elixir::program {

/// Whether an operator of this name updates running statistics when its argument `training` is
/// true. Its schema does not say so.
[[nodiscard]] bool updates_statistics(std::string_view name);
/// The arguments that hold the statistics.
inline constexpr std::array<std::string_view, 2> kStatistics{"running_mean", "running_var"};

/// The tensors that a call writes but does not return, in the version that the call reads.
[[nodiscard]] std::vector<TensorRef> unreturned_writes(const Operator& op);

}  // namespace elixir::program
