// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The blocks of a program in which nothing repeats: forward is cut where few bytes pass from one
// part to the next. What passes a cut stays kept; what is made inside a segment can be made again,
// all of the segment at once. Many short segments keep much, and a long one makes much again: the
// cuts are chosen so that kept and remade bytes together are least.

#include <cstdint>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::edit {

/// By operator: the segment of forward that it is in, from 0; -1 for backward, and everywhere when
/// no cut saves anything. `activations`: kept_activations().
[[nodiscard]] std::vector<std::int32_t> segments_of(
    const program::Program& program,
    const program::Lifetimes& lifetimes,
    const std::vector<program::StorageId>& activations);

}  // namespace elixir::edit
