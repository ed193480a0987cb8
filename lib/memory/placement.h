// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Allocations with addresses: what a memory snapshot shows. The interface is that of an allocator's
// event log, so that a simulation of LibTorch's caching allocator can stand in for the simple
// placement below, which knows no segments and no pools.

#include <cstdint>
#include <vector>

#include "memory/allocation_trace.h"

namespace elixir::memory {

struct PlacedEvent {
  enum class Action : std::uint8_t { kSegmentAllocate, kAllocate, kFree, kSegmentFree };
  Action action = Action::kAllocate;
  std::int64_t address = 0;
  std::int64_t bytes = 0;        ///< of the block or segment, rounding included
  std::int32_t allocation = -1;  ///< position in the trace; -1 for segments
  program::OperatorId at = -1;   ///< the running operator; -1 before the step
};

/// One segment of the least size that a best fit with merging needs; blocks are the requested bytes
/// rounded up to 512. Takes time n log n. The segment comes first.
[[nodiscard]] std::vector<PlacedEvent> place_in_one_segment(const AllocationTrace& trace);

}  // namespace elixir::memory
