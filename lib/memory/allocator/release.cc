// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Returns cached memory to the device: by garbage collection, by freeing oversize blocks for one
// request, or by freeing everything that is completely free.

#include <iterator>
#include <vector>

#include "memory/allocator/state.h"

namespace elixir::memory {

/// Frees unsplit large blocks whose age (searches since they were cached) is at least the mean,
/// until reserved memory is below the threshold. A round always runs to its end.
void CachingAllocator::State::collect_garbage() {
  const auto threshold = static_cast<std::int64_t>(config_.garbage_collection_threshold *
                                                   static_cast<double>(*allowed_bytes_));
  if (statistics_.reserved.current <= threshold) return;
  const std::int64_t target = statistics_.reserved.current - threshold;
  std::int64_t total_age = 0;
  std::int64_t count = 0;
  for (const Block* block : large_.free) {
    if (block->is_split()) continue;
    total_age += large_.age(block);
    ++count;
  }
  std::int64_t reclaimed = 0;
  bool freed = true;
  while (reclaimed < target && freed && count > 0) {
    const double mean_age = static_cast<double>(total_age) / static_cast<double>(count);
    freed = false;
    for (auto at = large_.free.begin(); at != large_.free.end();) {
      Block* block = *at++;
      const std::int64_t age = large_.age(block);
      if (block->is_split() || block->range != nullptr || static_cast<double>(age) < mean_age) {
        continue;
      }
      freed = true;
      reclaimed += block->bytes;
      total_age -= age;
      --count;
      release_segment(block);
    }
  }
}

/// With max_split_bytes: frees one cached oversize block that is large enough, otherwise several,
/// largest first. Returns whether it freed as much as the request needs.
bool CachingAllocator::State::release_available(const Request& request) {
  if (config_.max_split_bytes == AllocatorConfig::kUnlimited) return false;
  BlockPool& pool = *request.pool;
  Block key;
  key.stream = request.stream;
  key.bytes = std::max(request.bytes, config_.max_split_bytes);
  auto at = pool.free.lower_bound(&key);
  if (at != pool.free.end() && (*at)->stream == request.stream && (*at)->range == nullptr) {
    release_segment(*at);
    return true;
  }
  std::int64_t released = 0;
  while (released < key.bytes && at != pool.free.begin()) {
    const auto candidate = std::prev(at);
    Block* block = *candidate;
    if (block->stream != request.stream || block->bytes < config_.max_split_bytes) break;
    if (block->range != nullptr) {
      at = candidate;
      continue;
    }
    released += block->bytes;
    release_segment(block);  // `at` stays valid: it is already past the block
  }
  return released >= key.bytes;
}

void CachingAllocator::State::release_cached() {
  synchronise_events();
  release_pool(large_);
  release_pool(small_);
}

void CachingAllocator::State::release_pool(BlockPool& pool) {
  std::vector<Block*> expandable;  // unmapping changes the pool
  for (auto at = pool.free.begin(); at != pool.free.end();) {
    Block* block = *at++;
    if (block->range != nullptr) {
      expandable.push_back(block);
    } else if (!block->is_split()) {
      release_segment(block);
    }
  }
  for (Block* block : expandable) {
    unmap_whole_pages(block);
    if (!block->is_split()) drop_range(block);
  }
}

void CachingAllocator::State::release_segment(Block* block) {
  block->pool->free.erase(block);
  device_->free(block->address, block->bytes);
  shrink(statistics_.reserved, block->bytes);
  ++statistics_.device_frees;
  report(DeviceEvent::Kind::kFree, block->bytes, block->stream, block->address);
  store_.give_back(block);
}

}  // namespace elixir::memory
