// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/loads/belady.h"

#include <algorithm>
#include <limits>
#include <utility>

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

void ChunkUses::add(std::int32_t chunk) {
  const auto open = chunks_.begin() + static_cast<std::ptrdiff_t>(begin_.back());
  if (std::find(open, chunks_.end(), chunk) == chunks_.end()) chunks_.push_back(chunk);
}

std::vector<ChunkLoad> belady_loads(const std::vector<std::vector<std::int32_t>>& steps,
                                    std::int64_t blocks) {
  ChunkUses uses;
  for (const std::vector<std::int32_t>& step : steps) {
    for (const std::int32_t chunk : step) uses.add(chunk);
    uses.end_step();
  }
  return belady_loads(uses, blocks);
}

std::vector<ChunkLoad> belady_loads(const ChunkUses& uses, std::int64_t blocks) {
  std::int32_t chunks = 0;
  std::size_t count = 0;
  for (std::size_t t = 0; t < uses.steps(); ++t) {
    for (const std::int32_t chunk : uses[t]) chunks = std::max(chunks, chunk + 1);
    count += uses[t].size();
    if (static_cast<std::int64_t>(uses[t].size()) > blocks) {
      throw Error(ErrorCode::kInconsistentPlan,
                  "one operator needs {} chunks at once, the plan has {} cache blocks",
                  uses[t].size(),
                  blocks)
          .help("use at least that many blocks, or chunks that hold more parameters");
    }
  }
  // Backwards, the next use of a chunk is the one seen last.
  std::vector<std::int32_t> next_use(chunks, kNever);  // by chunk
  std::vector<std::int32_t> use_after(count);          // by use, in order
  std::size_t use = count;
  for (std::size_t t = uses.steps(); t-- > 0;) {
    use -= uses[t].size();
    for (std::size_t i = 0; i < uses[t].size(); ++i) {
      use_after[use + i] = std::exchange(next_use[uses[t][i]], static_cast<std::int32_t>(t));
    }
  }
  std::vector<std::int32_t> block_of(chunks, -1);
  std::vector<Block> cache;
  std::vector<ChunkLoad> loads;

  for (std::size_t t = 0; t < uses.steps(); ++t) {
    const auto now = static_cast<std::int32_t>(t);
    for (const std::int32_t chunk : uses[t]) {
      if (block_of[chunk] >= 0) continue;
      ChunkLoad load{.chunk = chunk, .needed_at = now};
      if (static_cast<std::int64_t>(cache.size()) < blocks) {
        load.block = static_cast<std::int32_t>(cache.size());
        cache.emplace_back();
      } else {
        std::int32_t farthest = -1;
        for (std::size_t b = 0; b < cache.size(); ++b) {
          const std::int32_t held = cache[b].chunk;
          if (next_use[held] == now) continue;  // this step uses it
          if (load.block < 0 || next_use[held] > farthest ||
              (next_use[held] == farthest && held > cache[load.block].chunk)) {
            load.block = static_cast<std::int32_t>(b);
            farthest = next_use[held];
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
    for (const std::int32_t chunk : uses[t]) {
      cache[block_of[chunk]].last_use = now;
      next_use[chunk] = use_after[use++];
    }
  }
  return loads;
}

}  // namespace elixir::schedule
