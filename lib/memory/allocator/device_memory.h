// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the caching allocator asks of the device: segments (cudaMalloc, cudaFree) and, for
// expandable segments, address ranges with pages mapped into them. Which addresses a device gives
// is unspecified; they matter only where two free blocks are equally large.

#include <cstdint>
#include <map>
#include <optional>

namespace elixir::memory {

using Address = std::uint64_t;

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Address of a new segment, nullopt when the device has no room for it.
  virtual std::optional<Address> allocate(std::int64_t bytes) = 0;
  virtual void free(Address address, std::int64_t bytes) = 0;
  /// Address of a new range without memory.
  virtual Address reserve_range(std::int64_t bytes) = 0;
  virtual void free_range(Address address, std::int64_t bytes) = 0;
  /// Memory behind part of a range, as one page of `page_bytes` after the other; false, with
  /// nothing mapped, when the device has no room for all of them.
  virtual bool map(Address address, std::int64_t bytes, std::int64_t page_bytes) = 0;
  virtual void unmap(Address address, std::int64_t bytes) = 0;
};

/// Places segments as the driver was seen to place them (driver 580, H200; all 140 runs of
/// tests/data/traces): it takes address space from the top down in ranges of 32 MiB, and a
/// segment that fits into what earlier ranges left over goes to the lowest such place.
class DriverLikeDeviceMemory final : public DeviceMemory {
 public:
  explicit DriverLikeDeviceMemory(std::int64_t capacity_bytes) : free_bytes_(capacity_bytes) {}
  std::optional<Address> allocate(std::int64_t bytes) override;
  void free(Address address, std::int64_t bytes) override;
  Address reserve_range(std::int64_t bytes) override;
  void free_range(Address address, std::int64_t bytes) override;
  bool map(Address address, std::int64_t bytes, std::int64_t page_bytes) override;
  void unmap(Address address, std::int64_t bytes) override;

 private:
  std::int64_t free_bytes_;
  Address lowest_ = Address{1} << 62;  ///< high, so that there is room for ranges of any device
  std::map<Address, std::int64_t> places_;  ///< unused parts of ranges: bytes by address
};

}  // namespace elixir::memory
