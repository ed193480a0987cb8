// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/buffers/gradient_blocks.h"

#include <algorithm>
#include <deque>

namespace elixir::schedule {

GradientBlocks gradient_blocks(const plan::Plan& plan,
                               const std::vector<plan::Place>& places,
                               const ProgramNeeds& needs,
                               const std::vector<bool>& trained) {
  GradientBlocks blocks{.of_chunk = std::vector<std::int32_t>(plan.chunks.size(), -1)};
  if (plan.world == 1 || plan::reduces_once(plan)) return blocks;
  const auto shares = [&](std::int32_t chunk) {
    return trained[chunk] && plan.chunks[chunk].kind == plan::Chunk::Kind::kPublic;
  };
  std::vector<int> left(plan.chunks.size(), 0);  // gradients that are still to come
  for (const std::vector<std::int32_t>& ready : needs.gradients_ready) {
    for (const std::int32_t parameter : ready) ++left[places[parameter].chunk];
  }
  const std::vector<bool>& direct = needs.gradient_is_product;
  const std::size_t spare = std::find(direct.begin(), direct.end(), true) == direct.end() ? 1 : 2;
  std::deque<std::int32_t> free;  // the one that has been so for longest first
  for (const std::vector<std::int32_t>& ready : needs.gradients_ready) {
    for (const std::int32_t parameter : ready) {
      const std::int32_t chunk = places[parameter].chunk;
      if (!shares(chunk)) continue;
      std::int32_t& block = blocks.of_chunk[chunk];
      if (block < 0) {
        if (free.size() > spare) {
          block = free.front();
          free.pop_front();
        } else {
          block = blocks.count++;
        }
      }
      if (--left[chunk] == 0) free.push_back(block);
    }
  }
  return blocks;
}

}  // namespace elixir::schedule
