// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which chunk leaves when a block is needed: the one whose next use is farthest (Belady's MIN),
// which makes the number of loads minimal because every chunk costs the same. Pure function of the
// order of uses.

#include <cstdint>
#include <vector>

namespace elixir::schedule {

/// One chunk coming into one block.
struct ChunkLoad {
  std::int32_t chunk = -1;
  std::int32_t block = -1;
  std::int32_t victim = -1;     ///< chunk that the block held; -1: none yet
  std::int32_t needed_at = -1;  ///< step whose use asks for it
  std::int32_t free_after =
      -1;  ///< step of the victim's last use before; -1: the block was never used
};

/// `steps[t]` are the distinct chunks that step t uses. Loads are in order of `needed_at`, inside a
/// step in the order given. Among chunks equally far the larger id leaves. Throws kInconsistentPlan
/// when a step uses more chunks than there are blocks.
[[nodiscard]] std::vector<ChunkLoad> belady_loads(
    const std::vector<std::vector<std::int32_t>>& steps, std::int64_t blocks);

}  // namespace elixir::schedule
