// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How few bytes of activations can be kept for how much time of recomputation. Choosing what to
// keep is a minimum cut: a storage that is needed in backward is kept, which costs its bytes, or
// made again, which costs the time of the operators that write it and needs what they read. The
// weight between bytes and time decides; the points of all weights are the lower convex hull of all
// choices.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "program/program.h"

namespace elixir::edit {

struct FrontierPoint {
  std::int64_t kept_bytes = 0;    ///< of activations, from forward to backward
  std::int64_t recompute_ns = 0;  ///< of the operators that run again
  /// What to give to recompute().
  std::vector<program::StorageId> storages;
};

/// The lower convex hull of (kept_bytes, recompute_ns) over all that recompute() can make of
/// blocks, from "everything kept" to the fewest bytes. What passes between blocks is kept,
/// and operators outside of blocks never run again. `operator_ns`: by operator, at least 0.
[[nodiscard]] std::vector<FrontierPoint> frontier(const program::Program& program,
                                                  const std::vector<std::int64_t>& operator_ns);

/// Positions in a frontier, which has at least one point: the first ones that save a quarter, half
/// and three quarters of what can be saved, and the last one. The same position may come twice.
[[nodiscard]] std::vector<std::size_t> spread_over(const std::vector<FrontierPoint>& points);

}  // namespace elixir::edit
