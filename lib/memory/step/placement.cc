// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/placement.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "memory/step/timeline.h"

namespace elixir::memory {

using Action = PlacedEvent::Action;

namespace {

/// A usual start of a device's addresses. It is not 0, because readers of a snapshot use 0 for
/// none.
constexpr std::int64_t kBaseAddress = 0x7f0000000000;

/// An address range that grows at its end. Best fit, lowest address on ties, free neighbours
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
  /// Grows the range. A free block at the very end is used as part of the new block.
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

/// Where the last step of `events` begins.
std::size_t last_step_begin(const TrainingEvents& events) {
  const std::size_t steps = events.step_ends.size();
  return steps < 2 ? 0 : events.step_ends[steps - 2];
}

/// Positions of the allocations that exist before the last step.
std::vector<std::int32_t> there_before_last_step(const TrainingEvents& events) {
  std::vector<bool> there(events.allocations.size(), false);
  for (std::size_t i = 0; i < last_step_begin(events); ++i) {
    there[static_cast<std::size_t>(events.events[i].allocation)] = !events.events[i].frees;
  }
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (there[i]) positions.push_back(static_cast<std::int32_t>(i));
  }
  return positions;
}

/// Records the events of each step, after the memory that existed when it began, and keeps the step
/// that holds most.
class StepRecorder {
 public:
  void step_begins() {
    keep_highest();
    placed_.clear();
    peak_bytes_ = held_bytes_;
    for (const auto& [address, segment] : segments_) {
      placed_.push_back({.action = segment.mapped ? Action::kSegmentMap : Action::kSegmentAllocate,
                         .address = address,
                         .bytes = segment.bytes});
    }
    for (const auto& [allocation, block] : blocks_) {
      placed_.push_back({.action = Action::kAllocate,
                         .address = block.address,
                         .bytes = block.bytes,
                         .allocation = allocation});
    }
  }

  void event(const TrainingEvent& event, Address address, std::int64_t bytes) {
    // Segments come before the request that needs them.
    for (; unattributed_ > 0; --unattributed_)
      placed_[placed_.size() - unattributed_].at = event.at;
    const PlacedEvent placed{.action = event.frees ? Action::kFree : Action::kAllocate,
                             .address = static_cast<std::int64_t>(address),
                             .bytes = bytes,
                             .allocation = event.allocation,
                             .at = event.at};
    placed_.push_back(placed);
    if (event.frees) {
      blocks_.erase(event.allocation);
      held_bytes_ -= bytes;
    } else {
      blocks_[event.allocation] = placed;
      held_bytes_ += bytes;
      peak_bytes_ = std::max(peak_bytes_, held_bytes_);
    }
  }

  void device(const DeviceEvent& event) {
    const bool mapped = event.kind == DeviceEvent::Kind::kMap;
    require(mapped || event.kind == DeviceEvent::Kind::kAllocate,
            "memory was given back on a device without limits");
    const auto address = static_cast<std::int64_t>(event.address);
    segments_[address] = {event.bytes, mapped};
    placed_.push_back({.action = mapped ? Action::kSegmentMap : Action::kSegmentAllocate,
                       .address = address,
                       .bytes = event.bytes});
    ++unattributed_;
  }

  /// The events, with addresses moved to where a device's addresses usually begin.
  std::vector<PlacedEvent> take() {
    keep_highest();
    std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
    for (const PlacedEvent& event : highest_) lowest = std::min(lowest, event.address);
    for (PlacedEvent& event : highest_) event.address += kBaseAddress - lowest;
    return std::move(highest_);
  }

 private:
  /// Keeps the step that holds most; the last one of equals.
  void keep_highest() {
    if (peak_bytes_ < highest_bytes_) return;
    highest_bytes_ = peak_bytes_;
    highest_ = std::move(placed_);
  }

  struct Segment {
    std::int64_t bytes = 0;
    bool mapped = false;
  };
  std::map<std::int64_t, Segment> segments_;    // by address
  std::map<std::int32_t, PlacedEvent> blocks_;  // by allocation
  std::size_t unattributed_ = 0;                // number of segments since the last request
  std::vector<PlacedEvent> placed_;
  std::int64_t held_bytes_ = 0;  // in blocks, now
  std::int64_t peak_bytes_ = 0;  // in blocks, of the running step
  std::vector<PlacedEvent> highest_;
  std::int64_t highest_bytes_ = 0;
};

}  // namespace

std::vector<PlacedEvent> place_in_one_segment(const TrainingEvents& events) {
  std::vector<PlacedEvent> placed(1);
  std::vector<std::int64_t> address_of(events.allocations.size(), 0);
  Arena arena;
  const auto allocate = [&](std::int32_t allocation, program::OperatorId at) {
    const auto index = static_cast<std::size_t>(allocation);
    const std::int64_t bytes = rounded_allocation(events.allocations[index].bytes);
    require(address_of[index] == 0, "an allocation is made twice");
    address_of[index] = arena.take(bytes);
    placed.push_back({Action::kAllocate, address_of[index], bytes, allocation, at});
  };
  for (const std::int32_t allocation : there_before_last_step(events)) allocate(allocation, -1);
  for (std::size_t i = last_step_begin(events); i < events.events.size(); ++i) {
    const TrainingEvent& event = events.events[i];
    const auto index = static_cast<std::size_t>(event.allocation);
    if (!event.frees) {
      allocate(event.allocation, event.at);
      continue;
    }
    const std::int64_t bytes = rounded_allocation(events.allocations[index].bytes);
    const std::int64_t address = std::exchange(address_of[index], 0);
    require(address != 0, "an allocation is released before it is made");
    arena.give_back(address, bytes);
    placed.push_back({Action::kFree, address, bytes, event.allocation, event.at});
  }
  if (arena.bytes() == 0) return {};
  placed.front() = {
      .action = Action::kSegmentAllocate, .address = kBaseAddress, .bytes = arena.bytes()};
  return placed;
}

SimulatedStep place_in_caching_allocator(const TrainingEvents& events,
                                         const AllocatorConfig& config) {
  StepRecorder recorder;
  TrainingWatch watch;
  watch.step_begins = [&] { recorder.step_begins(); };
  watch.event = [&](const TrainingEvent& event, Address address, std::int64_t bytes) {
    recorder.event(event, address, bytes);
  };
  watch.device = [&](const DeviceEvent& event) { recorder.device(event); };
  SimulatedStep step;
  step.training = simulate_training(events, config, unlimited_device(), watch);
  step.placed = recorder.take();
  return step;
}

}  // namespace elixir::memory
