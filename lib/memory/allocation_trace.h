// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What one training step asks of the device's allocator, in order: first what is there before the
// step (parameters, buffers, inputs, constants, optimizer state), then each operator's outputs when
// it runs and releases after it. The input of an allocator's simulation and of a memory snapshot.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace elixir::memory {

struct Allocation {
  std::int64_t requested_bytes = 0;  ///< > 0: an empty tensor asks for nothing
  program::Category category = program::Category::kTemporary;
  program::StorageId storage = -1;  ///< -1 for optimizer state
  std::int32_t parameter = -1;      ///< whose optimizer state; -1 for storages
  std::string_view part;            ///< of the optimizer state; static text
};

struct AllocationEvent {
  enum class Kind : std::uint8_t { kAllocate, kFree } kind = Kind::kAllocate;
  std::int32_t allocation = -1;  ///< position in AllocationTrace::allocations
  program::OperatorId at = -1;   ///< the running operator; -1 before the step
};

struct AllocationTrace {
  std::vector<Allocation> allocations;
  std::vector<AllocationEvent> events;
};

/// Operators allocate and release storages in order of their ids. What is never released
/// (gradients, the loss) stays allocated at the end.
[[nodiscard]] AllocationTrace trace_allocations(const program::Program& program,
                                                const std::string& optimizer);

}  // namespace elixir::memory
