// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/timeline.h"

#include <algorithm>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "memory/step/optimizer_state.h"

namespace elixir::memory {

using program::Category;
using program::OperatorId;
using program::Program;
using program::Storage;

namespace {

/// Constants that stay on the host do not use device memory.
bool on_device(const Storage& storage) {
  return !storage.on_host;
}

}  // namespace

Timeline make_timeline(const Program& program, std::int64_t optimizer_bytes) {
  const auto operators = static_cast<OperatorId>(program.operators.size());
  std::vector<std::vector<program::StorageId>> born(program.operators.size());
  std::vector<std::vector<program::StorageId>> dies(program.operators.size());
  ByCategory live{};
  live[index_of(Category::kOptimizerState)] = optimizer_bytes;
  std::int64_t total = optimizer_bytes;
  for (const Storage& storage : program.storages) {
    if (!on_device(storage)) continue;
    require(storage.allocated_at < operators && storage.freed_after <= operators,
            "a storage lives outside its program");
    if (storage.allocated_at < 0) {
      live[index_of(storage.category)] += rounded_allocation(storage.bytes);
      total += rounded_allocation(storage.bytes);
    } else {
      born[static_cast<std::size_t>(storage.allocated_at)].push_back(storage.id);
    }
    if (storage.freed_after >= 0 && storage.freed_after < operators)
      dies[static_cast<std::size_t>(storage.freed_after)].push_back(storage.id);
  }

  Timeline timeline;
  timeline.peak_bytes = total;
  timeline.peak_by_category_bytes = live;
  timeline.allocated_bytes.reserve(program.operators.size());
  timeline.by_category_bytes.reserve(program.operators.size());
  for (std::size_t op = 0; op < program.operators.size(); ++op) {
    for (const program::StorageId id : born[op]) {
      const Storage& storage = program.storages[static_cast<std::size_t>(id)];
      live[index_of(storage.category)] += rounded_allocation(storage.bytes);
      total += rounded_allocation(storage.bytes);
    }
    timeline.allocated_bytes.push_back(total);
    timeline.by_category_bytes.push_back(live);
    timeline.scratch_bytes.push_back(0);
    timeline.activations_peak_bytes =
        std::max(timeline.activations_peak_bytes, live[index_of(Category::kActivation)]);
    if (total > timeline.peak_bytes || timeline.peak_operator < 0) {
      timeline.peak_bytes = total;
      timeline.peak_operator = static_cast<OperatorId>(op);
      timeline.peak_by_category_bytes = live;
    }
    for (const program::StorageId id : dies[op]) {
      const Storage& storage = program.storages[static_cast<std::size_t>(id)];
      live[index_of(storage.category)] -= rounded_allocation(storage.bytes);
      total -= rounded_allocation(storage.bytes);
    }
  }

  for (const Storage& storage : program.storages) {
    if (on_device(storage) && storage.allocated_at <= timeline.peak_operator &&
        storage.freed_after >= timeline.peak_operator) {
      timeline.live_at_peak.push_back({storage.id, rounded_allocation(storage.bytes)});
    }
  }
  std::sort(timeline.live_at_peak.begin(),
            timeline.live_at_peak.end(),
            [](const LiveStorage& a, const LiveStorage& b) {
              return a.bytes != b.bytes ? a.bytes > b.bytes : a.storage < b.storage;
            });
  return timeline;
}

std::int64_t optimizer_state_bytes(const Program& program, program::OptimizerUse use) {
  std::int64_t bytes = 0;
  for (const OptimizerTensor& tensor : optimizer_state(program, use)) {
    bytes += rounded_allocation(tensor.bytes());
  }
  return bytes;
}

program::MemorySummary summarise(const Program& program, program::OptimizerUse use) {
  program::MemorySummary summary;
  for (const Storage& storage : program.storages) {
    if (!on_device(storage)) continue;
    switch (storage.category) {
      case Category::kParameter:
        summary.parameters_bytes += rounded_allocation(storage.bytes);
        break;
      case Category::kBuffer:
        summary.buffers_bytes += rounded_allocation(storage.bytes);
        break;
      case Category::kGradient:
        summary.gradients_bytes += rounded_allocation(storage.bytes);
        break;
      default:
        break;
    }
  }
  summary.optimizer_bytes = optimizer_state_bytes(program, use);
  const Timeline timeline = make_timeline(program, summary.optimizer_bytes);
  summary.activations_peak_bytes = timeline.activations_peak_bytes;
  summary.peak_allocated_bytes = timeline.peak_bytes;
  return summary;
}

}  // namespace elixir::memory
