// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// LibTorch's own CUDA caching allocator on a fake device, beside the simulator on another of the
// same addresses. Every call goes to both; what they do must be equal.

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
  /// The limit, as 1024ths of the device's 80 GiB; 1024: none.
  std::int64_t allowed_1024ths = 1024;
  std::uint64_t seed = 1;
};

class AllocatorPair {
 public:
  /// Empties LibTorch's allocator, which is one for the process, and configures both.
  explicit AllocatorPair(const PairOptions& options);
  AllocatorPair(const AllocatorPair&) = delete;
  AllocatorPair& operator=(const AllocatorPair&) = delete;
  ~AllocatorPair();

  /// Number of the allocation, from 0; nullopt when both are out of memory.
  std::optional<std::size_t> allocate(std::int64_t bytes, memory::StreamId stream);
  void free(std::size_t allocation);
  void record_stream(std::size_t allocation, memory::StreamId stream);
  void complete_events(memory::StreamId stream);
  void empty_cache();

  /// What differs between the two now; empty when nothing does.
  [[nodiscard]] std::string difference();
  /// Also segments and blocks.
  [[nodiscard]] std::string snapshot_difference();

  [[nodiscard]] const memory::AllocatorStatistics& statistics() const {
    return simulator_->statistics();
  }
  /// What LibTorch recorded so far, with its peaks and segments at the end.
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
