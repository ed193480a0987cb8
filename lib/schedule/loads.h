// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which chunk comes into which block, and when: Belady's choice over all uses of a step. A position
// is micro-batch * operators + operator, so that the cache runs through all micro-batches.

#include <cstdint>
#include <vector>

#include "schedule/buffers.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// A chunk on its way into a block.
struct Load {
  std::int32_t chunk = -1;
  BufferId block = -1;
  std::int32_t victim = -1;      ///< the chunk that leaves the block; -1: none
  std::int64_t needed_at = -1;   ///< position
  std::int64_t free_after = -1;  ///< position; -1: the block is free from the start of the step
  TaskId fetch = -1;             ///< once issued
};

/// In order of need. Throws kInconsistentPlan when a call needs more chunks than there are blocks.
[[nodiscard]] std::vector<Load> choose_loads(const program::Lifetimes& lifetimes,
                                             const plan::Plan& plan,
                                             const StepNeeds& needs,
                                             const StepBuffers& buffers,
                                             int micro_batches);

/// Positions in `loads`, by `free_after`, then by need.
[[nodiscard]] std::vector<std::size_t> by_freedom(const std::vector<Load>& loads);

}  // namespace elixir::schedule
