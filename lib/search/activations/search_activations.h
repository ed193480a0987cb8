// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Searches with different choices of activations that are made again in backward, wait on the host,
// or wait where gradients come later.

#include "search/activations/activation_choice.h"
#include "search/search.h"

namespace elixir::search {

/// The best plan over the choices that the request leaves open; with all that it names, or that
/// suits its strategy. Sets Found::recomputation. `start` is the program before anything is chosen.
/// Errors as search().
[[nodiscard]] Outcome search_activations(const EditedProgram& start,
                                         const hardware::HardwareProfile& hardware,
                                         const Request& request);

}  // namespace elixir::search
