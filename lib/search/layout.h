// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How parameters are packed into chunks. A chunk holds parameters of one dtype, either all trained
// or all frozen; a tied parameter has a private chunk of its own. Sizes are aligned bytes (plan.h's
// layout rule).

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::search {

/// A parameter as the packers see it.
struct Item {
  std::int32_t parameter = -1;  ///< position in Program::parameters
  std::int64_t bytes = 0;       ///< aligned
  int kind = 0;       ///< equal for parameters that may share a chunk: dtype and whether trained
  bool tied = false;  ///< several names: registered in more than one place
};

/// Items in the order given by `order` (positions in Program::parameters).
[[nodiscard]] std::vector<Item> items_of(const program::Program& program,
                                         const std::vector<std::int32_t>& order);

/// One chunk to be.
struct Members {
  std::vector<Item> items;
  std::int64_t bytes = 0;  ///< at least the items'
  bool is_private = false;
};
using Layout = std::vector<Members>;

/// Groups of items that are placed together, none split: first fit into the open chunk of the kind,
/// else a new one. A group larger than `capacity_bytes` has a chunk of its own. Items of one group
/// must be of one kind.
[[nodiscard]] Layout pack(const std::vector<std::vector<Item>>& groups,
                          std::int64_t capacity_bytes);

/// Public items of `items`, each a group of its own.
[[nodiscard]] std::vector<std::vector<Item>> singles(const std::vector<Item>& items);
/// Public items of one kind that some executed call uses together, in order of their first item.
[[nodiscard]] std::vector<std::vector<Item>> used_together(const std::vector<Item>& items,
                                                           const program::Lifetimes& lifetimes);
/// A private chunk for every tied item.
[[nodiscard]] Layout private_chunks(const std::vector<Item>& items);

/// Chunks of a plan, everything at home on the device.
[[nodiscard]] std::vector<plan::Chunk> chunks_of(const Layout& layout,
                                                 const program::Program& program,
                                                 int accumulation_steps);

}  // namespace elixir::search
