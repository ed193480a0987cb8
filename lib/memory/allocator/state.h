// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// State of the simulated caching allocator. Internal to lib/memory. Its functions are in three
// files: caching_allocator.cc has requests, frees and events; expandable.cc has expandable
// segments; release.cc returns cached memory to the device.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "memory/allocator/blocks.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/device_memory.h"

namespace elixir::memory {

class CachingAllocator::State {
 public:
  State(const AllocatorConfig& config,
        const DeviceLimits& limits,
        std::unique_ptr<DeviceMemory> device);

  AllocationResult allocate(std::int64_t bytes, StreamId stream);
  void free(AllocationId id);
  void record_stream(AllocationId id, StreamId stream);
  void complete_events(StreamId stream);
  void complete_free(AllocationId id);
  void empty_cache() { release_cached(); }
  void configure(const AllocatorConfig& config) { config_ = config; }
  void reset_peaks();
  [[nodiscard]] std::vector<SegmentInfo> snapshot() const;

  [[nodiscard]] const AllocatorStatistics& statistics() const { return statistics_; }
  void on_device_event(std::function<void(const DeviceEvent&)> callback) {
    callback_ = std::move(callback);
  }

 private:
  struct Request {
    std::int64_t bytes = 0;  ///< rounded
    std::int64_t segment_bytes = 0;
    StreamId stream = 0;
    BlockPool* pool = nullptr;
  };

  // Requests (caching_allocator.cc).
  [[nodiscard]] bool collects_garbage() const;
  [[nodiscard]] Block* find_free(const Request& request);
  [[nodiscard]] Block* new_block(const Request& request);
  [[nodiscard]] bool should_split(const Block* block, const Request& request) const;
  Block* split(Block* block, std::int64_t bytes);
  AllocatedBlock hand_out(Block* block, std::int64_t requested_bytes);
  OutOfMemory fail(const Request& request, std::int64_t requested_bytes);
  void process_events();
  void synchronise_events();
  void event_completed(AllocationId id);
  void free_block(Block* block);
  /// Merges `other` into `block` when both are free neighbours that may merge. Returns the bytes
  /// added.
  std::int64_t merge(Block* block, Block* other);
  [[nodiscard]] Block* block_of(AllocationId id) const;

  // Expandable segments (expandable.cc).
  [[nodiscard]] Block* find_expandable(const Request& request);
  [[nodiscard]] Block* allocate_expandable(const Request& request);
  bool map(Block* block, std::int64_t bytes);
  void unmap_whole_pages(Block* block);
  void drop_range(Block* block);

  // Returning memory to the device (release.cc).
  void collect_garbage();
  [[nodiscard]] bool release_available(const Request& request);
  void release_cached();
  void release_pool(BlockPool& pool);
  void release_segment(Block* block);

  void report(DeviceEvent::Kind kind, std::int64_t bytes, StreamId stream, Address address);

  AllocatorConfig config_;
  std::int64_t total_bytes_;
  std::optional<std::int64_t> allowed_bytes_;
  std::unique_ptr<DeviceMemory> device_;
  BlockStore store_;
  BlockPool small_{true};
  BlockPool large_{false};
  std::map<Address, std::unique_ptr<ExpandableRange>> ranges_;
  std::vector<Block*> allocations_;  ///< by id; null once the block is back in its pool
  std::map<StreamId, std::deque<AllocationId>> events_;  ///< pending, in order
  std::deque<AllocationId> completed_;                   ///< not yet processed
  AllocatorStatistics statistics_;
  std::function<void(const DeviceEvent&)> callback_;
};

/// Adds to a gauge and updates its peak.
void grow(Gauge& gauge, std::int64_t bytes);
void shrink(Gauge& gauge, std::int64_t bytes);

}  // namespace elixir::memory
