// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Simulates LibTorch 2.11's CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp) without a
// device. The same requests give the same blocks, segments and statistics. Covers one device and
// the default pools; graph capture and user memory pools are not simulated. Deterministic: except
// for device addresses, everything follows from the requests and the configuration.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "memory/allocator/config.h"
#include "memory/allocator/device_memory.h"

namespace elixir::memory {

using StreamId = std::int64_t;      ///< ordered as LibTorch orders streams; 0: the default stream
using AllocationId = std::int64_t;  ///< counts allocations from 1; 0: allocations of zero bytes

struct DeviceLimits {
  std::int64_t total_bytes = 0;  ///< whole device, cudaDeviceProp::totalGlobalMem
  /// Limit for reserved memory (torch.cuda.set_per_process_memory_fraction). nullopt: use the
  /// configuration's per_process_memory_fraction.
  std::optional<std::int64_t> allowed_bytes;
  /// What the device really has for this process. Default: total_bytes.
  std::optional<std::int64_t> capacity_bytes;
};

struct AllocatedBlock {
  AllocationId id = 0;
  std::int64_t block_bytes = 0;  ///< bytes added to `allocated`
  Address address = 0;
};

/// The answer "does not fit". Nothing was allocated; cached memory was returned to the device.
struct OutOfMemory {
  std::int64_t requested_bytes = 0;
  std::int64_t segment_bytes = 0;  ///< size that the device refused
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;
  std::optional<std::int64_t> allowed_bytes;
};

using AllocationResult = std::variant<AllocatedBlock, OutOfMemory>;

struct Gauge {
  std::int64_t current = 0, peak = 0;
};

/// Bytes as in torch.cuda.memory_stats(), and counts of calls since the start.
struct AllocatorStatistics {
  Gauge allocated;       ///< blocks handed out
  Gauge requested;       ///< bytes asked for, of active blocks
  Gauge active;          ///< allocated, or freed but still used by another stream
  Gauge reserved;        ///< segments and mapped pages
  Gauge inactive_split;  ///< free parts of partly used segments, without expandable segments
  std::int64_t device_allocations = 0;  ///< successful cudaMalloc calls and mappings
  std::int64_t device_frees = 0;        ///< cudaFree calls and unmappings
  std::int64_t retries = 0;             ///< allocations repeated after all cached memory was freed
  std::int64_t out_of_memory = 0;
};

/// A change on the device. Events come in order.
struct DeviceEvent {
  enum class Kind : std::uint8_t { kAllocate, kFree, kMap, kUnmap, kOutOfMemory };
  Kind kind = Kind::kAllocate;
  std::int64_t bytes = 0;  ///< of the segment or pages; kOutOfMemory: of the block requested
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

/// A segment from cudaMalloc, or one contiguous mapped part of an expandable segment. Its blocks
/// cover it without gaps.
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
  /// Uses a device that places segments as the driver does (DriverLikeDeviceMemory).
  CachingAllocator(const AllocatorConfig& config, const DeviceLimits& limits);
  /// Uses `device` (not null), for tests and recorded traces. Ignores limits.capacity_bytes: the
  /// device has its own capacity.
  CachingAllocator(const AllocatorConfig& config,
                   const DeviceLimits& limits,
                   std::unique_ptr<DeviceMemory> device);
  CachingAllocator(CachingAllocator&& other) noexcept;
  CachingAllocator& operator=(CachingAllocator&& other) noexcept;
  ~CachingAllocator();

  /// Zero bytes give id 0 and change no statistics. A negative size is a bug of the caller.
  AllocationResult allocate(std::int64_t bytes, StreamId stream);
  /// Returns the block to its pool. If other streams use it, it stays active until their events
  /// complete. `id` must be allocated; 0 is ignored.
  void free(AllocationId id);
  /// Records that `stream` uses the allocation. Its own stream changes nothing.
  void record_stream(AllocationId id, StreamId stream);
  /// Completes all events recorded so far on `stream`. As in LibTorch, the next allocate() notices.
  void complete_events(StreamId stream);
  /// Completes all events of one freed allocation, and returns its block to its pool now.
  void complete_free(AllocationId id);
  /// Changes the configuration (torch.cuda.memory._set_allocator_settings). The memory limit stays
  /// as it is.
  void configure(const AllocatorConfig& config);
  /// torch.cuda.empty_cache(): waits for all events, then frees whole segments and whole pages.
  void empty_cache();

  [[nodiscard]] const AllocatorStatistics& statistics() const;
  /// Sets the peaks to the current values.
  void reset_peaks();
  /// All segments, in address order.
  [[nodiscard]] std::vector<SegmentInfo> snapshot() const;
  /// Sets a function that is called for each change on the device. Default: none.
  void on_device_event(std::function<void(const DeviceEvent&)> callback);

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace elixir::memory
