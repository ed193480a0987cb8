// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The device below the caching allocator. It provides segments (cudaMalloc, cudaFree) and, for
// expandable segments, address ranges with pages mapped into them. The addresses are unspecified.
// They matter only when two free blocks have the same size.

#include <cstdint>
#include <map>
#include <optional>

namespace elixir::memory {

using Address = std::uint64_t;

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  /// Address of a new segment; nullopt when the device has no room for it.
  virtual std::optional<Address> allocate(std::int64_t bytes) = 0;
  virtual void free(Address address, std::int64_t bytes) = 0;
  /// Address of a new range. No memory is mapped yet.
  virtual Address reserve_range(std::int64_t bytes) = 0;
  virtual void free_range(Address address, std::int64_t bytes) = 0;
  /// Maps memory into part of a range, in pages of `page_bytes`. Returns false, with nothing
  /// mapped, when the device has no room for all of them.
  virtual bool map(Address address, std::int64_t bytes, std::int64_t page_bytes) = 0;
  virtual void unmap(Address address, std::int64_t bytes) = 0;
};

/// Places segments as the driver was observed to do (driver 580, H200; all 140 runs of
/// tests/data/traces). The driver takes address space from the top down in ranges of 32 MiB. A
/// segment that fits into an unused part of an earlier range goes to the lowest such place.
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
  Address lowest_ = Address{1} << 62;       ///< high: leaves room for ranges of any device
  std::map<Address, std::int64_t> places_;  ///< unused parts of ranges: bytes by address
};

}  // namespace elixir::memory
