// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Decides which chunk is loaded into which block, and when, by Belady's rule over all uses of a
// step. A position is micro-batch * operators + operator, so one sequence covers all micro-batches.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/buffers/buffers.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// A load of a chunk into a block.
struct Load {
  std::int32_t chunk = -1;
  BufferId block = -1;
  std::int32_t victim = -1;      ///< chunk evicted from the block; -1: none
  std::int64_t needed_at = -1;   ///< position
  std::int64_t free_after = -1;  ///< position; -1: free from the start of the step
  TaskId loaded = -1;            ///< the task that ends it, set once it is issued
};

/// Sorted by need. Throws kInconsistentPlan when a call needs more chunks than there are blocks.
[[nodiscard]] std::vector<Load> choose_loads(const program::Lifetimes& lifetimes,
                                             const ProgramNeeds& program_needs,
                                             const plan::Plan& plan,
                                             const std::vector<plan::Place>& places,
                                             const StepNeeds& needs,
                                             const StepBuffers& buffers,
                                             int micro_batches);

/// The loads of a step as its positions go by, in two orders: that in which chunks are needed, and
/// that in which their blocks are free.
class LoadQueue {
 public:
  explicit LoadQueue(std::vector<Load> in_order_of_need);

  /// Whether the next load is needed at position `here`.
  [[nodiscard]] bool needs_at(std::int64_t here) const {
    return next_needed_ < loads_.size() && loads_[next_needed_].needed_at == here;
  }
  const Load& next_needed() { return loads_[next_needed_++]; }

  /// Whether the block of the next load to issue is free after position `here`.
  [[nodiscard]] bool frees_at(std::int64_t here) const {
    return next_freed_ < by_free_.size() && loads_[by_free_[next_freed_]].free_after == here;
  }
  /// Whoever issues it sets its `loaded`.
  Load& next_freed() { return loads_[by_free_[next_freed_++]]; }

 private:
  std::vector<Load> loads_;           // by position of need
  std::vector<std::size_t> by_free_;  // loads_ by the position after which the block is free
  std::size_t next_needed_ = 0, next_freed_ = 0;
};

}  // namespace elixir::schedule
