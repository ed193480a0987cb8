// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The memory of a schedule's buffers. It is allocated once from a device's two arenas. Buffers are
// found by id or by role.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "runtime/device/device.h"
#include "schedule/schedule.h"

namespace elixir::runtime {

class BufferStore {
 public:
  /// Returns memory for a buffer that the caller owns, or nullptr when the buffer needs its own
  /// memory.
  using Lender = std::function<void*(const schedule::Buffer&)>;

  /// The memory is zeroed. Throws kOutOfMemory when it would exceed the device's limit.
  BufferStore(Device& device, const std::vector<schedule::Buffer>& buffers, const Lender& lender);

  [[nodiscard]] void* at(schedule::BufferId id) const { return memory_.at(id); }
  /// The `ordinal`-th buffer of a role for `chunk`; nullptr when there is none.
  [[nodiscard]] void* find(schedule::BufferRole role,
                           std::int32_t chunk,
                           std::size_t ordinal = 0) const;
  [[nodiscard]] std::int64_t host_bytes() const { return host_bytes_; }

 private:
  std::vector<void*> memory_;
  std::map<std::pair<schedule::BufferRole, std::int32_t>, std::vector<void*>> by_role_;
  std::int64_t host_bytes_ = 0;
};

}  // namespace elixir::runtime
