// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A device whose addresses only grow, so that tests can be computed by hand.

#include "core/units.h"
#include "memory/allocator/device_memory.h"

namespace elixir::memory {

class GrowingDevice final : public DeviceMemory {
 public:
  explicit GrowingDevice(std::int64_t capacity_bytes) : free_bytes_(capacity_bytes) {}
  std::optional<Address> allocate(std::int64_t bytes) override {
    if (bytes > free_bytes_) return std::nullopt;
    free_bytes_ -= bytes;
    return reserve_range(bytes);
  }
  void free(Address /*address*/, std::int64_t bytes) override { free_bytes_ += bytes; }
  Address reserve_range(std::int64_t bytes) override {
    const Address address = next_;
    next_ += static_cast<Address>(round_up(bytes, 2_MiB));
    return address;
  }
  void free_range(Address /*address*/, std::int64_t /*bytes*/) override {}
  bool map(Address /*address*/, std::int64_t bytes, std::int64_t /*page_bytes*/) override {
    if (bytes > free_bytes_) return false;
    free_bytes_ -= bytes;
    return true;
  }
  void unmap(Address /*address*/, std::int64_t bytes) override { free_bytes_ += bytes; }

 private:
  std::int64_t free_bytes_;
  Address next_ = Address{1} << 40;
};

}  // namespace elixir::memory
