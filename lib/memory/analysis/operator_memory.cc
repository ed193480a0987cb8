// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/operator_memory.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/allocation_unit.h"
#include "core/error.h"

namespace elixir::memory {

std::vector<OperatorMemory> operator_memory(const program::Program& program,
                                            const Timeline& timeline) {
  require(timeline.allocated_bytes.size() == program.operators.size(),
          "a timeline of another program");
  std::map<std::string_view, OperatorMemory> by_name;
  for (const program::Operator& op : program.operators) {
    OperatorMemory& entry = by_name[op.name];
    ++entry.calls;
    entry.flops += op.flops;
    entry.peak_bytes =
        std::max(entry.peak_bytes, timeline.allocated_bytes[static_cast<std::size_t>(op.id)]);
  }
  for (const program::Storage& storage : program.storages) {
    if (storage.allocated_at < 0 || storage.on_host) continue;
    const std::string& name =
        program.operators[static_cast<std::size_t>(storage.allocated_at)].name;
    OperatorMemory& entry = by_name.at(name);
    entry.made_bytes += rounded_allocation(storage.bytes);
    if (storage.category == program::Category::kActivation) {
      entry.activations_bytes += rounded_allocation(storage.bytes);
    }
  }
  std::vector<OperatorMemory> result;
  result.reserve(by_name.size());
  for (auto& [name, entry] : by_name) {
    entry.name = std::string(name);
    result.push_back(std::move(entry));
  }
  std::sort(result.begin(), result.end(), [](const OperatorMemory& a, const OperatorMemory& b) {
    return a.made_bytes != b.made_bytes ? a.made_bytes > b.made_bytes : a.name < b.name;
  });
  return result;
}

}  // namespace elixir::memory
