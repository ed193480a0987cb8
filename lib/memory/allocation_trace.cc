// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocation_trace.h"

#include "core/error.h"
#include "memory/optimizer_state.h"

namespace elixir::memory {

using program::OperatorId;
using program::Storage;

AllocationTrace trace_allocations(const program::Program& program, const std::string& optimizer) {
  AllocationTrace trace;
  const std::size_t operators = program.operators.size();
  std::vector<std::vector<std::int32_t>> born(operators);
  std::vector<std::vector<std::int32_t>> dies(operators);
  const auto allocate = [&trace](std::int32_t allocation, OperatorId at) {
    trace.events.push_back({AllocationEvent::Kind::kAllocate, allocation, at});
  };

  for (const Storage& storage : program.storages) {
    if (storage.on_host || storage.bytes == 0) continue;
    require(storage.allocated_at < static_cast<OperatorId>(operators),
            "a storage is allocated outside its program");
    const auto position = static_cast<std::int32_t>(trace.allocations.size());
    trace.allocations.push_back(
        {.requested_bytes = storage.bytes, .category = storage.category, .storage = storage.id});
    if (storage.allocated_at < 0) {
      allocate(position, -1);
    } else {
      born[static_cast<std::size_t>(storage.allocated_at)].push_back(position);
    }
    if (storage.freed_after >= 0 && storage.freed_after < static_cast<OperatorId>(operators)) {
      dies[static_cast<std::size_t>(storage.freed_after)].push_back(position);
    }
  }
  for (const OptimizerTensor& tensor : optimizer_state(program, optimizer)) {
    if (tensor.bytes == 0) continue;
    allocate(static_cast<std::int32_t>(trace.allocations.size()), -1);
    trace.allocations.push_back({.requested_bytes = tensor.bytes,
                                 .category = program::Category::kOptimizerState,
                                 .parameter = tensor.parameter,
                                 .part = tensor.part});
  }
  for (std::size_t op = 0; op < operators; ++op) {
    const auto at = static_cast<OperatorId>(op);
    for (const std::int32_t position : born[op]) allocate(position, at);
    for (const std::int32_t position : dies[op]) {
      trace.events.push_back({AllocationEvent::Kind::kFree, position, at});
    }
  }
  return trace;
}

}  // namespace elixir::memory
