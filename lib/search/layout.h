// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Packs parameters into chunks. All parameters of a chunk have one dtype and are either all trained
// or all frozen. A tied parameter gets its own private chunk. Sizes are aligned bytes (layout rule
// in plan.h).

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
  int kind = 0;                 ///< equal for parameters that may share a chunk (dtype, trained)
  bool tied = false;            ///< it has several names: it is registered in several places
};

/// Items in the order given by `order` (positions in Program::parameters).
[[nodiscard]] std::vector<Item> items_of(const program::Program& program,
                                         const std::vector<std::int32_t>& order);

/// One planned chunk.
struct Members {
  std::vector<Item> items;
  std::int64_t bytes = 0;  ///< at least the sum of the items
  bool is_private = false;
};
using Layout = std::vector<Members>;

/// Packs groups of items; a group is never split. First fit: a group goes into the open chunk of
/// its kind, or else into a new one. A group larger than `capacity_bytes` gets its own chunk. The
/// caller must put only items of one kind into a group.
[[nodiscard]] Layout pack(const std::vector<std::vector<Item>>& groups,
                          std::int64_t capacity_bytes);

/// The public items of `items`, each as its own group.
[[nodiscard]] std::vector<std::vector<Item>> singles(const std::vector<Item>& items);
/// The public items, grouped by kind and by executed calls that use them together; in order of each
/// group's first item.
[[nodiscard]] std::vector<std::vector<Item>> used_together(const std::vector<Item>& items,
                                                           const program::Lifetimes& lifetimes);
/// One private chunk for each tied item.
[[nodiscard]] Layout private_chunks(const std::vector<Item>& items);

/// The chunks of a plan in which everything is at home on the device. `blank` says how many ranks
/// share them: then parameters are padded to where shards may end.
[[nodiscard]] std::vector<plan::Chunk> chunks_of(const Layout& layout,
                                                 const program::Program& program,
                                                 const plan::Plan& blank);

}  // namespace elixir::search
