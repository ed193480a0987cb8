// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/allocator/device_memory.h"

#include <iterator>

#include "core/units.h"

namespace elixir::memory {

std::optional<Address> DriverLikeDeviceMemory::allocate(std::int64_t bytes) {
  if (bytes > free_bytes_) return std::nullopt;
  free_bytes_ -= bytes;
  for (auto place = places_.begin(); place != places_.end(); ++place) {
    if (place->second < bytes) continue;
    const Address address = place->first;
    const std::int64_t left = place->second - bytes;
    places_.erase(place);
    if (left > 0) places_.emplace(address + static_cast<Address>(bytes), left);
    return address;
  }
  const Address address = reserve_range(bytes);
  const std::int64_t left = round_up(bytes, 32_MiB) - bytes;
  if (left > 0) places_.emplace(address + static_cast<Address>(bytes), left);
  return address;
}

void DriverLikeDeviceMemory::free(Address address, std::int64_t bytes) {
  free_bytes_ += bytes;
  const auto place = places_.emplace(address, bytes).first;
  const auto next = std::next(place);
  if (next != places_.end() && address + static_cast<Address>(bytes) == next->first) {
    place->second += next->second;
    places_.erase(next);
  }
  if (place == places_.begin()) return;
  const auto previous = std::prev(place);
  if (previous->first + static_cast<Address>(previous->second) == address) {
    previous->second += place->second;
    places_.erase(place);
  }
}

Address DriverLikeDeviceMemory::reserve_range(std::int64_t bytes) {
  lowest_ -= static_cast<Address>(round_up(bytes, 32_MiB));
  return lowest_;
}

void DriverLikeDeviceMemory::free_range(Address /*address*/, std::int64_t /*bytes*/) {}

bool DriverLikeDeviceMemory::map(Address /*address*/,
                                 std::int64_t bytes,
                                 std::int64_t /*page_bytes*/) {
  if (bytes > free_bytes_) return false;
  free_bytes_ -= bytes;
  return true;
}

void DriverLikeDeviceMemory::unmap(Address /*address*/, std::int64_t bytes) {
  free_bytes_ += bytes;
}

}  // namespace elixir::memory
