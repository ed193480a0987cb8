// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/device_memory.h"

#include "core/units.h"

namespace elixir::memory {

std::optional<Address> GrowingDeviceMemory::allocate(std::int64_t bytes) {
  if (bytes > free_bytes_) return std::nullopt;
  free_bytes_ -= bytes;
  return reserve_range(bytes);
}

void GrowingDeviceMemory::free(Address /*address*/, std::int64_t bytes) {
  free_bytes_ += bytes;
}

Address GrowingDeviceMemory::reserve_range(std::int64_t bytes) {
  const Address address = next_;
  next_ += static_cast<Address>(round_up(bytes, 2_MiB));
  return address;
}

void GrowingDeviceMemory::free_range(Address /*address*/, std::int64_t /*bytes*/) {}

bool GrowingDeviceMemory::map(Address /*address*/,
                              std::int64_t bytes,
                              std::int64_t /*page_bytes*/) {
  if (bytes > free_bytes_) return false;
  free_bytes_ -= bytes;
  return true;
}

void GrowingDeviceMemory::unmap(Address /*address*/, std::int64_t bytes) {
  free_bytes_ += bytes;
}

}  // namespace elixir::memory
