// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A simulated allocator that records its device calls as short texts.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "growing_device.h"
#include "memory/allocator/caching_allocator.h"

namespace elixir::memory {

class Harness {
 public:
  explicit Harness(const std::string& config = "", DeviceLimits limits = {.total_bytes = 8_GiB})
      : allocator(
            AllocatorConfig::parse(config),
            limits,
            std::make_unique<GrowingDevice>(limits.capacity_bytes.value_or(limits.total_bytes))) {
    allocator.on_device_event([this](const DeviceEvent& event) { calls_.push_back(text(event)); });
  }

  AllocatedBlock get(std::int64_t bytes, StreamId stream = 0) {
    const AllocationResult result = allocator.allocate(bytes, stream);
    if (const auto* allocation = std::get_if<AllocatedBlock>(&result)) return *allocation;
    ADD_FAILURE() << "out of memory for " << bytes;
    return {};
  }
  AllocationId id(std::int64_t bytes, StreamId stream = 0) { return get(bytes, stream).id; }
  OutOfMemory fail(std::int64_t bytes, StreamId stream = 0) {
    const AllocationResult result = allocator.allocate(bytes, stream);
    if (const auto* answer = std::get_if<OutOfMemory>(&result)) return *answer;
    ADD_FAILURE() << "there was memory for " << bytes;
    return {};
  }

  /// Device calls since the previous call: "+20M" for a segment, "map 20M", "oom"; with " @1" on
  /// stream 1.
  std::vector<std::string> calls() { return std::exchange(calls_, {}); }
  /// "20M: 2M used, 18M free" for each segment, in address order.
  [[nodiscard]] std::vector<std::string> segments() const {
    std::vector<std::string> lines;
    for (const SegmentInfo& segment : allocator.snapshot()) {
      std::string line = size(segment.bytes) + ":";
      for (const BlockInfo& block : segment.blocks) {
        line += fmt::format(" {} {}",
                            size(block.bytes),
                            block.state == BlockState::kAllocated     ? "used"
                            : block.state == BlockState::kPendingFree ? "waits"
                                                                      : "free");
      }
      lines.push_back(line);
    }
    return lines;
  }
  [[nodiscard]] const AllocatorStatistics& statistics() const { return allocator.statistics(); }

  static std::string size(std::int64_t bytes) {
    if (bytes % 1_MiB == 0) return fmt::format("{}M", bytes / 1_MiB);
    if (bytes % 1024 == 0) return fmt::format("{}K", bytes / 1024);
    return fmt::format("{}", bytes);
  }
  static std::string text(const DeviceEvent& event) {
    const std::string stream = event.stream == 0 ? "" : fmt::format(" @{}", event.stream);
    const std::string bytes = size(event.bytes);
    switch (event.kind) {
      case DeviceEvent::Kind::kAllocate:
        return "+" + bytes + stream;
      case DeviceEvent::Kind::kFree:
        return "-" + bytes + stream;
      case DeviceEvent::Kind::kMap:
        return "map " + bytes + stream;
      case DeviceEvent::Kind::kUnmap:
        return "unmap " + bytes + stream;
      case DeviceEvent::Kind::kOutOfMemory:
        return "oom " + bytes + stream;
    }
    return "";
  }

  CachingAllocator allocator;

 private:
  std::vector<std::string> calls_;
};

}  // namespace elixir::memory
