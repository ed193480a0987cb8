// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Chooses which chunk to evict when a block is needed: the one with the farthest next use (Belady's
// MIN). All chunks cost the same to load, so this minimises the number of loads. A pure function of
// the order of uses.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace elixir::schedule {

/// One load of a chunk into a block.
struct ChunkLoad {
  std::int32_t chunk = -1;
  std::int32_t block = -1;
  std::int32_t victim = -1;     ///< evicted chunk; -1: the block was unused
  std::int32_t needed_at = -1;  ///< step that needs the chunk
  std::int32_t free_after =
      -1;  ///< last step that uses the victim before; -1: the block was unused
};

/// The distinct chunks that each step uses, in one piece of memory, because a search makes many of
/// these lists.
class ChunkUses {
 public:
  /// Adds a chunk to the open step, unless it is there.
  void add(std::int32_t chunk);
  [[nodiscard]] bool nothing_added() const { return chunks_.size() == begin_.back(); }
  /// Closes the open step and opens the next one.
  void end_step() { begin_.push_back(chunks_.size()); }

  /// Number of closed steps.
  [[nodiscard]] std::size_t steps() const { return begin_.size() - 1; }
  [[nodiscard]] std::span<const std::int32_t> operator[](std::size_t step) const {
    return {chunks_.data() + begin_[step], chunks_.data() + begin_[step + 1]};
  }

 private:
  std::vector<std::int32_t> chunks_;
  std::vector<std::size_t> begin_{0};  ///< by step: position in chunks_; the open step is the last
};

/// The loads are sorted by `needed_at`; within a step they keep the given order. Among chunks with
/// equally far uses, the larger id is evicted. Throws kInconsistentPlan when a step uses more
/// chunks than there are blocks.
[[nodiscard]] std::vector<ChunkLoad> belady_loads(const ChunkUses& uses, std::int64_t blocks);
/// Same, when `steps[t]` lists the distinct chunks that step t uses.
[[nodiscard]] std::vector<ChunkLoad> belady_loads(
    const std::vector<std::vector<std::int32_t>>& steps, std::int64_t blocks);

}  // namespace elixir::schedule
