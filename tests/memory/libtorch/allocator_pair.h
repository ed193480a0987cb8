// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Runs LibTorch's own CUDA caching allocator on a fake device, and the simulator on another device
// with the same addresses. Every call goes to both, and they must behave equally.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator/caching_allocator.h"
#include "memory/recorded/trace.h"

namespace elixir::tests {

struct PairOptions {
  std::string config;
  std::int64_t capacity_bytes = std::int64_t{80} << 30;
  /// The limit, in 1024ths of the device's 80 GiB; 1024: no limit.
  std::int64_t allowed_1024ths = 1024;
  std::uint64_t seed = 1;
};

class AllocatorPair {
 public:
  /// Empties LibTorch's allocator, which exists once per process, and configures both.
  explicit AllocatorPair(const PairOptions& options);
  AllocatorPair(const AllocatorPair&) = delete;
  AllocatorPair& operator=(const AllocatorPair&) = delete;
  ~AllocatorPair();

  /// The number of the allocation, from 0; nullopt when both are out of memory.
  std::optional<std::size_t> allocate(std::int64_t bytes, memory::StreamId stream);
  void free(std::size_t allocation);
  void record_stream(std::size_t allocation, memory::StreamId stream);
  void complete_events(memory::StreamId stream);
  void empty_cache();

  /// The current difference between the two; empty when there is none.
  [[nodiscard]] std::string difference();
  /// Compares segments and blocks too.
  [[nodiscard]] std::string snapshot_difference();

  [[nodiscard]] const memory::AllocatorStatistics& statistics() const {
    return simulator_->statistics();
  }
  /// LibTorch's record so far, with its peaks, and its segments at the end.
  [[nodiscard]] memory::RecordedTrace trace();

 private:
  struct Live {
    void* pointer = nullptr;
    memory::AllocationId id = 0;
  };
  struct Tracker;

  PairOptions options_;
  std::unique_ptr<memory::CachingAllocator> simulator_;
  std::vector<memory::DeviceEvent> simulated_;
  std::vector<Live> allocations_;
  std::string problem_;
};

}  // namespace elixir::tests
