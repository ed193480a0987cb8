// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Who is responsible for a quantity that is over its limit: with a baseline what grew most and what
// shrank most, so that the change can be followed; without one (or when nothing grew) what is
// largest.

#include <vector>

#include "check/budget_check.h"

namespace elixir::check {

/// Entries of each list at most.
inline constexpr std::size_t kMostCulprits = 5;

/// Lists for the quantities `over`; quantities with the same lists (allocated, reserved, process)
/// give them once.
[[nodiscard]] std::vector<Culprits> find_culprits(const CheckedDocument& document,
                                                  const CheckedDocument* baseline,
                                                  const std::vector<Quantity>& over);

}  // namespace elixir::check
