// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/state/buffer_store.h"

#include "core/allocation_unit.h"
#include "core/error.h"

namespace elixir::runtime {

BufferStore::BufferStore(Device& device,
                         const std::vector<schedule::Buffer>& buffers,
                         const Lender& lender)
    : memory_(buffers.size()) {
  for (const auto arena : {schedule::Arena::kDevice, schedule::Arena::kHost}) {
    std::vector<std::int64_t> bytes;
    std::vector<std::size_t> wanting;
    for (const schedule::Buffer& buffer : buffers) {
      if (buffer.arena != arena) continue;
      require(buffer.id >= 0 && static_cast<std::size_t>(buffer.id) < buffers.size(),
              "a buffer's id is not its position");
      if (buffer.shares >= 0) continue;
      memory_[buffer.id] = lender ? lender(buffer) : nullptr;
      if (memory_[buffer.id]) continue;
      wanting.push_back(buffer.id);
      bytes.push_back(buffer.bytes);
      if (arena == schedule::Arena::kHost) {
        host_bytes_ += rounded_allocation(buffer.bytes);
      }
    }
    if (wanting.empty()) continue;
    const std::vector<void*> parts = device.allocate(arena, bytes);
    for (std::size_t i = 0; i < wanting.size(); ++i) memory_[wanting[i]] = parts[i];
  }
  for (const schedule::Buffer& buffer : buffers) {
    if (buffer.shares < 0) continue;
    memory_[buffer.id] = static_cast<char*>(memory_.at(buffer.shares)) + buffer.offset_bytes;
  }
  for (const schedule::Buffer& buffer : buffers) {
    by_role_[{buffer.role, buffer.chunk}].push_back(memory_[buffer.id]);
  }
}

void* BufferStore::find(schedule::BufferRole role, std::int32_t chunk, std::size_t ordinal) const {
  const auto found = by_role_.find({role, chunk});
  if (found == by_role_.end() || ordinal >= found->second.size()) return nullptr;
  return found->second[ordinal];
}

}  // namespace elixir::runtime
