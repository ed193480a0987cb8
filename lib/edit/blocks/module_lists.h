// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The items of a model's module lists ("h.0", "h.1", …), the blocks of most models.

#include <cstdint>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::edit {

/// By operator: a number for the list item that it is in, or -1. A list counts if it holds
/// `activations` at two positions or more; a nested list belongs to the outer one.
[[nodiscard]] std::vector<std::int32_t> items_of_lists(
    const program::Program& program,
    const program::Lifetimes& lifetimes,
    const std::vector<program::StorageId>& activations);

}  // namespace elixir::edit
