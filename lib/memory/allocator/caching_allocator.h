// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A simulator of LibTorch 2.11's CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp) without
// a device: the same requests give the same blocks, segments and statistics. One device, the
// default pools; graph capture and user memory pools are not simulated. Deterministic: everything
// but the device's addresses follows from the requests and the configuration.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "memory/allocator/config.h"
#include "memory/allocator/device_memory.h"

namespace elixir::memory {

using StreamId = std::int64_t;      ///< ordered as LibTorch orders streams; 0 is the default one
using AllocationId = std::int64_t;  ///< counts the allocations from 1; 0 is that of zero bytes

struct DeviceLimits {
  std::int64_t total_bytes = 0;  ///< of the device, cudaDeviceProp::totalGlobalMem
  /// What may be reserved (torch.cuda.set_per_process_memory_fraction); nullopt: as the
  /// configuration's per_process_memory_fraction says.
  std::optional<std::int64_t> allowed_bytes;
  /// What the device really has for this process; by default total_bytes.
  std::optional<std::int64_t> capacity_bytes;
};

struct AllocatedBlock {
  AllocationId id = 0;
  std::int64_t block_bytes = 0;  ///< what `allocated` grew by
  Address address = 0;
};

/// The answer "does not fit"; nothing is allocated, cached memory has been given back.
struct OutOfMemory {
  std::int64_t requested_bytes = 0;
  std::int64_t segment_bytes = 0;  ///< what was asked from the device in vain
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  std::optional<std::int64_t> allowed_bytes;
};

using AllocationResult = std::variant<AllocatedBlock, OutOfMemory>;

struct Gauge {
  std::int64_t current = 0, peak = 0;
};

/// Bytes as torch.cuda.memory_stats() counts them, and calls since the start.
struct AllocatorStatistics {
  Gauge allocated;       ///< blocks handed out
  Gauge requested;       ///< what was asked for, of active blocks
  Gauge active;          ///< allocated, and freed but awaited by another stream
  Gauge reserved;        ///< segments and mapped pages
  Gauge inactive_split;  ///< free parts of segments in use, without expandable segments
  std::int64_t device_allocations = 0;  ///< cudaMalloc calls and mappings that succeeded
  std::int64_t device_frees = 0;        ///< cudaFree calls and unmappings
  std::int64_t retries = 0;  ///< allocations tried again after all cached memory was freed
  std::int64_t out_of_memory = 0;
};

/// What changed on the device, in order.
struct DeviceEvent {
  enum class Kind : std::uint8_t { kAllocate, kFree, kMap, kUnmap, kOutOfMemory };
  Kind kind = Kind::kAllocate;
  std::int64_t bytes = 0;  ///< of the segment or the pages; kOutOfMemory: of the block asked for
  StreamId stream = 0;
  Address address = 0;  ///< 0 for kOutOfMemory
  bool operator==(const DeviceEvent&) const = default;
};

enum class BlockState : std::uint8_t { kFree, kAllocated, kPendingFree };

struct BlockInfo {
  Address address = 0;
  std::int64_t bytes = 0;
  std::int64_t requested_bytes = 0;  ///< 0 when free
  BlockState state = BlockState::kFree;
};

/// A cudaMalloc'ed segment, or one contiguous mapped part of an expandable one. Its blocks tile it.
struct SegmentInfo {
  Address address = 0;
  std::int64_t bytes = 0;
  StreamId stream = 0;
  bool small_pool = false;
  bool expandable = false;
  std::vector<BlockInfo> blocks;
};

class CachingAllocator {
 public:
  /// On a device that places segments as the driver does (DriverLikeDeviceMemory).
  CachingAllocator(const AllocatorConfig& config, const DeviceLimits& limits);
  /// On `device` (not null), for tests and replays; limits.capacity_bytes is its own business.
  CachingAllocator(const AllocatorConfig& config,
                   const DeviceLimits& limits,
                   std::unique_ptr<DeviceMemory> device);
  CachingAllocator(CachingAllocator&& other) noexcept;
  CachingAllocator& operator=(CachingAllocator&& other) noexcept;
  ~CachingAllocator();

  /// Zero bytes give id 0 and count nothing. Negative ones are a bug of the caller.
  AllocationResult allocate(std::int64_t bytes, StreamId stream);
  /// Gives the block back to its pool, or, when other streams use it, keeps it active until their
  /// events complete. `id` must be allocated (0 is ignored).
  void free(AllocationId id);
  /// `stream` uses the allocation; uses by its own stream change nothing.
  void record_stream(AllocationId id, StreamId stream);
  /// The events recorded so far on `stream` have completed. LibTorch notices at the next allocate.
  void complete_events(StreamId stream);
  /// All events of one freed allocation have completed, and its block returns to its pool now.
  void complete_free(AllocationId id);
  /// From now on `config` holds (torch.cuda.memory._set_allocator_settings). The memory limit
  /// stays.
  void configure(const AllocatorConfig& config);
  /// torch.cuda.empty_cache(): waits for all events, frees whole segments and whole pages.
  void empty_cache();

  [[nodiscard]] const AllocatorStatistics& statistics() const;
  /// Peaks become the current values.
  void reset_peaks();
  /// By address.
  [[nodiscard]] std::vector<SegmentInfo> snapshot() const;
  /// Called for each change on the device; empty by default.
  void on_device_event(std::function<void(const DeviceEvent&)> callback);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::memory
