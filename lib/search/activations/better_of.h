// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Of two outcomes of a search, the one to keep.

#include "search/search.h"

namespace elixir::search {

/// A plan rather than none. Of two plans the faster one, with the other among its runners-up; of
/// equal ones the first. Of none and none the one that lacks less, with the least GPU memory of
/// both.
[[nodiscard]] Outcome better_of(Outcome first, Outcome second);

}  // namespace elixir::search
