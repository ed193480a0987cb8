// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Expandable segments: address ranges larger than the device. Their pages (2 MiB in the small pool,
// 20 MiB in the large pool) are mapped when a request needs them, lowest address first. Only whole
// pages are unmapped, when memory is returned.

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "core/units.h"
#include "memory/allocator/rounding.h"
#include "memory/allocator/state.h"

namespace elixir::memory {
namespace {

/// Whether the free blocks from `block` on, mapped or not, have `bytes` without a gap.
bool has_room(const Block* block, std::int64_t bytes) {
  std::int64_t room = 0;
  for (; room < bytes && block != nullptr && block->is_free(); block = block->next) {
    room += block->bytes;
  }
  return room >= bytes;
}

/// A block of `bytes` at `address` that continues block `of`.
Block beside(const Block& of, Address address, std::int64_t bytes) {
  Block block;
  block.stream = of.stream;
  block.bytes = bytes;
  block.address = address;
  block.pool = of.pool;
  block.range = of.range;
  return block;
}

void link(Block* before, Block* block, Block* after) {
  block->previous = before;
  block->next = after;
  if (before != nullptr) before->next = block;
  if (after != nullptr) after->previous = block;
}

}  // namespace

/// The free or unmapped block at the lowest address with enough room. Makes a new range when no
/// range of the stream has room.
Block* CachingAllocator::State::find_expandable(const Request& request) {
  BlockPool& pool = *request.pool;
  Block key;
  key.stream = request.stream;
  for (auto at = pool.unmapped.lower_bound(&key);
       at != pool.unmapped.end() && (*at)->stream == request.stream;
       ++at) {
    Block* candidate = *at;
    if (candidate->previous != nullptr && candidate->previous->is_free()) {
      candidate = candidate->previous;
    }
    if (has_room(candidate, request.bytes)) return candidate;
  }
  auto range = std::make_unique<ExpandableRange>();
  range->page_bytes = pool.small ? kSmallSegmentBytes : config_.large_segment_bytes;
  // An eighth more than the device has, because pages may be unmapped low and mapped again high.
  range->bytes = round_up(total_bytes_ + total_bytes_ / 8, range->page_bytes);
  range->address = device_->reserve_range(range->bytes);
  Block value;
  value.stream = request.stream;
  value.bytes = range->bytes;
  value.address = range->address;
  value.pool = request.pool;
  value.range = range.get();
  value.mapped = false;
  Block* block = store_.make(value);
  pool.unmapped.insert(block);
  ranges_[range->address] = std::move(range);
  return block;
}

Block* CachingAllocator::State::allocate_expandable(const Request& request) {
  Block* candidate = find_expandable(request);
  if (!candidate->mapped && !map(candidate, std::min(candidate->bytes, request.bytes))) {
    return nullptr;
  }
  // The candidate is free, then unmapped blocks follow. Mapping an unmapped block merges it with
  // the one before. After a failure, mapped pages stay mapped.
  while (candidate->bytes < request.bytes) {
    Block* next = candidate->next;
    if (next == nullptr) return nullptr;  // larger than the range, so larger than the device
    if (!map(next, std::min(request.bytes - candidate->bytes, next->bytes))) return nullptr;
    candidate = next;
  }
  request.pool->free.erase(candidate);
  return candidate;
}

/// Maps whole pages behind the first `bytes` of an unmapped block, and puts the result into the
/// pool.
bool CachingAllocator::State::map(Block* block, std::int64_t bytes) {
  require(!block->mapped && bytes > 0 && bytes <= block->bytes, "a block cannot be mapped");
  const std::int64_t mapped = round_up(bytes, block->range->page_bytes);
  if (!device_->map(block->address, mapped, block->range->page_bytes)) return false;
  BlockPool& pool = *block->pool;
  pool.unmapped.erase(block);
  block->mapped = true;
  const Address address = block->address;
  if (mapped < block->bytes) {
    Block rest =
        beside(*block, block->address + static_cast<Address>(mapped), block->bytes - mapped);
    rest.mapped = false;
    Block* remaining = store_.make(rest);
    link(block, remaining, block->next);
    pool.unmapped.insert(remaining);
    block->bytes = mapped;
  }
  merge(block, block->previous);
  merge(block, block->next);
  pool.insert(block);
  grow(statistics_.reserved, mapped);
  ++statistics_.device_allocations;
  report(DeviceEvent::Kind::kMap, mapped, block->stream, address);
  return true;
}

/// Unmaps the whole pages inside a free block. The parts before and after stay mapped.
void CachingAllocator::State::unmap_whole_pages(Block* block) {
  const std::int64_t page = block->range->page_bytes;
  const auto first = static_cast<std::int64_t>(block->address - block->range->address);
  const std::int64_t begin = round_up(first, page);
  const std::int64_t end = (first + block->bytes) / page * page;
  if (begin >= end) return;
  BlockPool& pool = *block->pool;
  pool.free.erase(block);
  const std::int64_t before = begin - first;
  const std::int64_t after = first + block->bytes - end;
  const Address address = block->range->address + static_cast<Address>(begin);
  if (before > 0) {
    Block* left = store_.make(beside(*block, block->address, before));
    link(block->previous, left, block);
    pool.insert(left);
  }
  if (after > 0) {
    Block* right =
        store_.make(beside(*block, block->range->address + static_cast<Address>(end), after));
    link(block, right, block->next);
    pool.insert(right);
  }
  block->address = address;
  block->bytes = end - begin;
  block->mapped = false;
  merge(block, block->previous);
  merge(block, block->next);
  pool.unmapped.insert(block);
  device_->unmap(address, end - begin);
  shrink(statistics_.reserved, end - begin);
  ++statistics_.device_frees;
  report(DeviceEvent::Kind::kUnmap, end - begin, block->stream, address);
}

/// Frees an address range that has no memory left.
void CachingAllocator::State::drop_range(Block* block) {
  require(!block->mapped && block->bytes == block->range->bytes, "a range still has memory");
  block->pool->unmapped.erase(block);
  device_->free_range(block->range->address, block->range->bytes);
  ranges_.erase(block->range->address);
  store_.give_back(block);
}

}  // namespace elixir::memory
