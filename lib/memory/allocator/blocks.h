// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The caching allocator's blocks and free lists. A block is a piece of a segment; the blocks of a
// segment form a doubly linked list in address order. Pools find free blocks. Internal to
// lib/memory.

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "memory/allocator/caching_allocator.h"

namespace elixir::memory {

struct BlockPool;

/// The address range of an expandable segment. Its pages are mapped and unmapped one by one.
struct ExpandableRange {
  Address address = 0;
  std::int64_t bytes = 0;
  std::int64_t page_bytes = 0;
};

struct Block {
  StreamId stream = 0;
  std::int64_t bytes = 0;
  std::int64_t requested_bytes = 0;
  Address address = 0;
  BlockPool* pool = nullptr;
  ExpandableRange* range = nullptr;  ///< null in segments from cudaMalloc
  Block* previous = nullptr;
  Block* next = nullptr;
  AllocationId id = 0;  ///< of the current or last allocation
  bool allocated = false;
  bool mapped = true;
  int pending_events = 0;
  std::int64_t age_base = 0;      ///< BlockPool::searches when it entered the pool
  std::vector<StreamId> used_by;  ///< other streams, without duplicates

  [[nodiscard]] bool is_split() const { return previous != nullptr || next != nullptr; }
  [[nodiscard]] bool is_free() const {
    return !allocated && pending_events == 0 && used_by.empty();
  }
};

/// Orders by stream, size, address. The best fit is the first block not less than (stream, size,
/// 0).
struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->bytes != b->bytes) return a->bytes < b->bytes;
    return a->address < b->address;
  }
};

struct ByAddress {
  bool operator()(const Block* a, const Block* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    return a->address < b->address;
  }
};

struct BlockPool {
  explicit BlockPool(bool is_small) : small(is_small) {}
  std::set<Block*, BySize> free;
  std::set<Block*, ByAddress> unmapped;
  bool small;
  std::int64_t searches = 0;  ///< counted only when garbage collection is on

  void insert(Block* block) {
    block->age_base = searches;
    free.insert(block);
  }
  /// Removes a free or unmapped block from the pool.
  void remove(Block* block) {
    if (block->mapped) {
      free.erase(block);
    } else {
      unmapped.erase(block);
    }
  }
  /// Searches since the block entered the pool.
  [[nodiscard]] std::int64_t age(const Block* block) const { return searches - block->age_base; }
};

/// Storage for blocks. Their addresses are stable, and returned blocks are reused.
class BlockStore {
 public:
  Block* make(const Block& value) {
    if (spare_.empty()) return &blocks_.emplace_back(value);
    Block* block = spare_.back();
    spare_.pop_back();
    *block = value;
    return block;
  }
  void give_back(Block* block) { spare_.push_back(block); }

 private:
  std::deque<Block> blocks_;
  std::vector<Block*> spare_;
};

}  // namespace elixir::memory
