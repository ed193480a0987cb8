// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "gpu/scratch/allocator_watch.h"

#include <c10/cuda/CUDACachingAllocator.h>

namespace elixir::tests {

AllocatorWatch& AllocatorWatch::instance() {
  // Never destroyed, because the allocator keeps calling it.
  static auto* const watch = new AllocatorWatch;
  return *watch;
}

AllocatorWatch::AllocatorWatch() {
  using Entry = c10::CachingDeviceAllocator::TraceEntry;
  c10::cuda::CUDACachingAllocator::attachAllocatorTraceTracker([this](const Entry& entry) {
    if (!watching_) return;
    if (entry.action_ == Entry::ALLOC) {
      live_[entry.addr_] = static_cast<int>(requests_.list.size());
      requests_.add(static_cast<std::int64_t>(entry.size_));
    } else if (entry.action_ == Entry::FREE_REQUESTED) {
      const auto found = live_.find(entry.addr_);
      if (found == live_.end()) return;  // older than the call
      requests_.release(found->second);
      live_.erase(found);
    }
  });
}

void AllocatorWatch::start() {
  requests_ = {};
  live_.clear();
  watching_ = true;
}

}  // namespace elixir::tests
