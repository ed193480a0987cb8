// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The caching allocator's blocks: pieces of segments in a doubly linked list by address, and the
// pools that find free ones. Internal to lib/memory.

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "memory/allocator/caching_allocator.h"

namespace elixir::memory {

struct BlockPool;

/// The address range of an expandable segment; its pages are mapped and unmapped one by one.
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
  ExpandableRange* range = nullptr;  ///< null in cudaMalloc'ed segments
  Block* previous = nullptr;
  Block* next = nullptr;
  AllocationId id = 0;  ///< of the allocation that has or had it last
  bool allocated = false;
  bool mapped = true;
  int pending_events = 0;
  std::int64_t age_base = 0;      ///< BlockPool::searches when it came to the pool
  std::vector<StreamId> used_by;  ///< other streams, each once

  [[nodiscard]] bool is_split() const { return previous != nullptr || next != nullptr; }
  [[nodiscard]] bool is_free() const {
    return !allocated && pending_events == 0 && used_by.empty();
  }
};

/// Stream, then size, then address: the first not less than (stream, size, 0) is the best fit.
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
  std::int64_t searches = 0;  ///< counted only where garbage may be collected

  void insert(Block* block) {
    block->age_base = searches;
    free.insert(block);
  }
  /// Takes a free or unmapped block out.
  void remove(Block* block) {
    if (block->mapped) {
      free.erase(block);
    } else {
      unmapped.erase(block);
    }
  }
  /// Searches since the block came to the pool.
  [[nodiscard]] std::int64_t age(const Block* block) const { return searches - block->age_base; }
};

/// Blocks with stable addresses, used again after they are given back.
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
