// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Finds what is responsible for a quantity over its limit. With a baseline: what grew most and what
// shrank most, so that the change can be traced. Without one, or when nothing grew: what is
// largest.

#include <vector>

#include "check/budget_check.h"

namespace elixir::check {

/// Maximum number of entries per list.
inline constexpr std::size_t kMostCulprits = 5;

/// Lists for the quantities in `over`. Quantities with the same lists (allocated, reserved,
/// process) share one.
[[nodiscard]] std::vector<Culprits> find_culprits(const CheckedDocument& document,
                                                  const CheckedDocument* baseline,
                                                  const std::vector<Quantity>& over);

}  // namespace elixir::check
