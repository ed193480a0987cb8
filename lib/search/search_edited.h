// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One search over the program that some edits have led to. search() compares several of them.

#include "search/problem.h"
#include "search/search.h"

namespace elixir::search {

/// Whether any chunk of the plan has its parameters or its optimizer state on the host.
[[nodiscard]] bool moves_anything(const plan::Plan& plan);

/// `program` is the edited one. Leaves Found::recomputation to the caller. Errors as search().
[[nodiscard]] Outcome search_edited(const program::Program& program,
                                    const Edits& edits,
                                    const hardware::HardwareProfile& hardware,
                                    const Request& request);

}  // namespace elixir::search
