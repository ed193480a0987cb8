// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// With several ranks: the blocks in which a chunk's gradients are collected until all are there and
// the ranks add them up. Chunks take turns, in an order that the program alone decides.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

struct GradientBlocks {
  std::int32_t count = 0;  ///< shared by public chunks
  std::vector<std::int32_t>
      of_chunk;  ///< -1: none; a private chunk has one of its own, not counted
};

/// None with one rank, or where every chunk has one of its own because a rank's micro-batches are
/// added up in it (plan::reduces_once()). Else as many as are in use at once, and one more, so that
/// the ranks add up one chunk's gradients while the next chunk's are made. One more still where
/// products write there, because they need it before they run, and not after. `trained` is by
/// chunk.
[[nodiscard]] GradientBlocks gradient_blocks(const plan::Plan& plan,
                                             const std::vector<plan::Place>& places,
                                             const ProgramNeeds& needs,
                                             const std::vector<bool>& trained);

}  // namespace elixir::schedule
