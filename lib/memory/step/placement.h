// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One training step with the address of every block: the memory that exists when the step begins,
// then every request and release. Memory snapshots and exact timelines are made from it.

#include <cstdint>
#include <vector>

#include "memory/step/training_events.h"
#include "memory/step/training_memory.h"

namespace elixir::memory {

struct PlacedEvent {
  /// There is no action that returns memory to the device, because no placement has a limit.
  enum class Action : std::uint8_t {
    kSegmentAllocate,  ///< cudaMalloc
    kSegmentMap,       ///< pages of an expandable segment; adjacent pages are one event
    kAllocate,
    kFree,
  };
  Action action = Action::kAllocate;
  std::int64_t address = 0;      ///< from 1 to 2^53 - 1
  std::int64_t bytes = 0;        ///< of the block or segment, rounded
  std::int32_t allocation = -1;  ///< position in TrainingEvents::allocations; -1 for segments
  program::OperatorId at = -1;   ///< the running call; -1 before the step
};

/// Places the last step of `events` in one segment: best fit with merging, and the smallest segment
/// for which that works. Blocks are rounded up to 512 bytes. For devices without LibTorch's caching
/// allocator. Empty when there are no requests.
[[nodiscard]] std::vector<PlacedEvent> place_in_one_segment(const TrainingEvents& events);

struct SimulatedStep {
  /// The events of the step that holds most in blocks: the last step, or an earlier one that holds
  /// more.
  std::vector<PlacedEvent> placed;
  TrainingMemory training;
};

/// Same, with the simulated caching allocator, of the step that has the peak. There is no limit,
/// and the last step repeats until it settles.
[[nodiscard]] SimulatedStep place_in_caching_allocator(const TrainingEvents& events,
                                                       const AllocatorConfig& config);

}  // namespace elixir::memory
