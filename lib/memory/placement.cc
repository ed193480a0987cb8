// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/placement.h"

#include <map>
#include <set>
#include <utility>

#include "core/error.h"
#include "memory/timeline.h"

namespace elixir::memory {
namespace {

/// Where a device's addresses usually begin: a snapshot's reader takes 0 for no address.
constexpr std::int64_t kBaseAddress = 0x7f0000000000;

/// An address range that grows at its end: best fit, lowest address on ties, free neighbours
/// merged.
class Arena {
 public:
  std::int64_t take(std::int64_t bytes) {
    const auto best = by_size_.lower_bound({bytes, 0});
    if (best == by_size_.end()) return grow(bytes);
    const auto [size, address] = *best;
    forget(address, size);
    if (size > bytes) remember(address + bytes, size - bytes);
    return address;
  }

  void give_back(std::int64_t address, std::int64_t bytes) {
    const auto after = by_address_.lower_bound(address);
    if (after != by_address_.begin()) {
      const auto [before, size] = *std::prev(after);
      if (before + size == address) {
        forget(before, size);
        address = before;
        bytes += size;
      }
    }
    if (const auto next = by_address_.find(address + bytes); next != by_address_.end()) {
      const auto [start, size] = *next;
      forget(start, size);
      bytes += size;
    }
    remember(address, bytes);
  }

  [[nodiscard]] std::int64_t bytes() const { return end_ - kBaseAddress; }

 private:
  /// A free block at the very end counts towards what is needed.
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t address = end_;
    if (!by_address_.empty()) {
      const auto [start, size] = *by_address_.rbegin();
      if (start + size == end_) {
        address = start;
        forget(start, size);
      }
    }
    end_ = address + bytes;
    return address;
  }
  void remember(std::int64_t address, std::int64_t bytes) {
    by_address_.emplace(address, bytes);
    by_size_.emplace(bytes, address);
  }
  void forget(std::int64_t address, std::int64_t bytes) {
    by_address_.erase(address);
    by_size_.erase({bytes, address});
  }

  std::map<std::int64_t, std::int64_t> by_address_;          // free blocks: address, bytes
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // the same: bytes, address
  std::int64_t end_ = kBaseAddress;
};

}  // namespace

std::vector<PlacedEvent> place_in_one_segment(const AllocationTrace& trace) {
  std::vector<PlacedEvent> placed(1);
  placed.reserve(trace.events.size() + 1);
  std::vector<std::int64_t> address_of(trace.allocations.size(), 0);
  Arena arena;
  for (const AllocationEvent& event : trace.events) {
    const auto index = static_cast<std::size_t>(event.allocation);
    const std::int64_t bytes = rounded(trace.allocations[index].requested_bytes);
    PlacedEvent out{.bytes = bytes, .allocation = event.allocation, .at = event.at};
    if (event.kind == AllocationEvent::Kind::kAllocate) {
      require(address_of[index] == 0, "an allocation is made twice");
      out.action = PlacedEvent::Action::kAllocate;
      out.address = address_of[index] = arena.take(bytes);
    } else {
      require(address_of[index] != 0, "an allocation is released before it is made");
      out.action = PlacedEvent::Action::kFree;
      out.address = std::exchange(address_of[index], 0);
      arena.give_back(out.address, bytes);
    }
    placed.push_back(out);
  }
  if (arena.bytes() == 0) return {};
  placed.front() = {.action = PlacedEvent::Action::kSegmentAllocate,
                    .address = kBaseAddress,
                    .bytes = arena.bytes()};
  return placed;
}

}  // namespace elixir::memory
