// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/belady.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::schedule {
namespace {

constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();

struct Block {
  std::int32_t chunk = -1;
  std::int32_t last_use = -1;
};

}  // namespace

std::vector<ChunkLoad> belady_loads(const std::vector<std::vector<std::int32_t>>& steps,
                                    std::int64_t blocks) {
  std::int32_t chunks = 0;
  for (const auto& step : steps) {
    for (const std::int32_t chunk : step) chunks = std::max(chunks, chunk + 1);
    if (static_cast<std::int64_t>(step.size()) > blocks) {
      throw Error(ErrorCode::kInconsistentPlan,
                  "one operator needs {} chunks at once, the plan has {} cache blocks",
                  step.size(),
                  blocks)
          .help("use at least that many blocks, or chunks that hold more parameters");
    }
  }
  std::vector<std::vector<std::int32_t>> uses(chunks);
  for (std::size_t t = 0; t < steps.size(); ++t) {
    for (const std::int32_t chunk : steps[t]) uses[chunk].push_back(static_cast<std::int32_t>(t));
  }
  std::vector<std::size_t> next(chunks, 0);  // position in uses[chunk] of its next use
  std::vector<std::int32_t> block_of(chunks, -1);
  std::vector<Block> cache;
  std::vector<ChunkLoad> loads;

  const auto next_use = [&](std::int32_t chunk) {
    return next[chunk] < uses[chunk].size() ? uses[chunk][next[chunk]] : kNever;
  };
  for (std::size_t t = 0; t < steps.size(); ++t) {
    const auto now = static_cast<std::int32_t>(t);
    for (const std::int32_t chunk : steps[t]) {
      if (block_of[chunk] >= 0) continue;
      ChunkLoad load{.chunk = chunk, .needed_at = now};
      if (static_cast<std::int64_t>(cache.size()) < blocks) {
        load.block = static_cast<std::int32_t>(cache.size());
        cache.emplace_back();
      } else {
        std::int32_t farthest = -1;
        for (std::size_t b = 0; b < cache.size(); ++b) {
          const std::int32_t held = cache[b].chunk;
          if (next_use(held) == now) continue;  // this step uses it
          if (load.block < 0 || next_use(held) > farthest ||
              (next_use(held) == farthest && held > cache[load.block].chunk)) {
            load.block = static_cast<std::int32_t>(b);
            farthest = next_use(held);
          }
        }
        load.victim = cache[load.block].chunk;
        load.free_after = cache[load.block].last_use;
        block_of[load.victim] = -1;
      }
      cache[load.block] = {chunk, now};
      block_of[chunk] = load.block;
      loads.push_back(load);
    }
    for (const std::int32_t chunk : steps[t]) {
      cache[block_of[chunk]].last_use = now;
      ++next[chunk];
    }
  }
  return loads;
}

}  // namespace elixir::schedule
