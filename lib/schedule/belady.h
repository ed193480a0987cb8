// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Chooses which chunk to evict when a block is needed: the one with the farthest next use (Belady's
// MIN). All chunks cost the same to load, so this minimises the number of loads. A pure function of
// the order of uses.

#include <cstdint>
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

/// `steps[t]` lists the distinct chunks that step t uses. The loads are sorted by `needed_at`;
/// within a step they keep the given order. Among chunks with equally far uses, the larger id is
/// evicted. Throws kInconsistentPlan when a step uses more chunks than there are blocks.
[[nodiscard]] std::vector<ChunkLoad> belady_loads(
    const std::vector<std::vector<std::int32_t>>& steps, std::int64_t blocks);

}  // namespace elixir::schedule
