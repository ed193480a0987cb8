// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One training step, from the second on, as an allocator serves it: what is there when the step
// begins, then every request and release with its block. What a memory snapshot shows, and what a
// timeline to the byte is made of.

#include <cstdint>
#include <vector>

#include "memory/step/training_events.h"
#include "memory/step/training_memory.h"

namespace elixir::memory {

struct PlacedEvent {
  /// Nothing is ever given back to the device: no placement has a limit.
  enum class Action : std::uint8_t {
    kSegmentAllocate,  ///< cudaMalloc
    kSegmentMap,       ///< pages of an expandable segment; adjacent ones are one
    kAllocate,
    kFree,
  };
  Action action = Action::kAllocate;
  std::int64_t address = 0;      ///< below 2^53, never 0
  std::int64_t bytes = 0;        ///< of the block or segment, rounding included
  std::int32_t allocation = -1;  ///< position in TrainingEvents::allocations; -1 for segments
  program::OperatorId at = -1;   ///< the running call; -1 before the step
};

/// The last step of `events` in one segment of the least size that a best fit with merging needs;
/// blocks are rounded up to 512 bytes. For devices without LibTorch's caching allocator. Empty when
/// nothing is ever asked for.
[[nodiscard]] std::vector<PlacedEvent> place_in_one_segment(const TrainingEvents& events);

struct SimulatedStep {
  std::vector<PlacedEvent> placed;  ///< of the last step that was simulated
  TrainingMemory training;
};

/// The same by the simulated caching allocator, without a limit, repeated until it is settled.
[[nodiscard]] SimulatedStep place_in_caching_allocator(const TrainingEvents& events,
                                                       const AllocatorConfig& config);

}  // namespace elixir::memory
