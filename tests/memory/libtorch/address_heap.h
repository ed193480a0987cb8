// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Device addresses in an unpredictable order that depends on the seed. Two heaps with one seed give
// the same addresses for the same calls. Which free block wins a tie then depends on the addresses.

#include <cstdint>
#include <map>
#include <optional>
#include <random>

namespace elixir::tests {

class AddressHeap {
 public:
  AddressHeap(std::int64_t capacity_bytes, std::uint64_t seed)
      : free_bytes_(capacity_bytes), random_(seed) {}

  /// A range with memory; nullopt when the capacity is used up.
  std::optional<std::uint64_t> allocate(std::int64_t bytes) {
    if (!take(bytes)) return std::nullopt;
    return reserve(bytes);
  }
  /// A range without memory.
  std::uint64_t reserve(std::int64_t bytes) {
    while (true) {
      const std::uint64_t address = kBase + random_() % kSpan / kGrain * kGrain;
      const auto after = ranges_.lower_bound(address);
      const bool above = after == ranges_.end() || after->first >= address + std::uint64_t(bytes);
      const bool below = after == ranges_.begin() || std::prev(after)->second <= address;
      if (!above || !below) continue;
      ranges_[address] = address + std::uint64_t(bytes);
      return address;
    }
  }
  void release(std::uint64_t address) { ranges_.erase(address); }
  [[nodiscard]] std::int64_t bytes_at(std::uint64_t address) const {
    return std::int64_t(ranges_.at(address) - address);
  }
  bool take(std::int64_t bytes) {
    if (bytes > free_bytes_) return false;
    free_bytes_ -= bytes;
    return true;
  }
  void give(std::int64_t bytes) { free_bytes_ += bytes; }
  [[nodiscard]] std::int64_t free_bytes() const { return free_bytes_; }

 private:
  static constexpr std::uint64_t kBase = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kSpan = std::uint64_t{1} << 45;
  static constexpr std::uint64_t kGrain = std::uint64_t{1} << 21;

  std::int64_t free_bytes_;
  std::mt19937_64 random_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< begin to end
};

}  // namespace elixir::tests
