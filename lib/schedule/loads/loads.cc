// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/loads/loads.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedule/loads/belady.h"

namespace elixir::schedule {
namespace {

using plan::Chunk;

bool is_cached(const plan::Plan& plan, const Chunk& chunk) {
  return plan::needs_block(plan, chunk) && chunk.kind == Chunk::Kind::kPublic;
}

/// Positions in `loads`, by `free_after`, then by need.
std::vector<std::size_t> by_freedom(const std::vector<Load>& loads) {
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return loads[a].free_after < loads[b].free_after;
  });
  return order;
}

}  // namespace

std::vector<Load> choose_loads(const program::Lifetimes& lifetimes,
                               const ProgramNeeds& program_needs,
                               const plan::Plan& plan,
                               const std::vector<plan::Place>& places,
                               const StepNeeds& needs,
                               const StepBuffers& buffers,
                               int micro_batches) {
  ChunkUses uses;
  std::vector<std::int64_t> position_of_use;
  const std::size_t operators = program_needs.executed.size();
  for (int m = 0; m < micro_batches; ++m) {
    for (const program::OperatorId op : program_needs.readers) {
      for (const std::int32_t parameter : lifetimes.parameters_used[op]) {
        const std::int32_t chunk = places[parameter].chunk;
        if (is_cached(plan, plan.chunks[chunk])) uses.add(chunk);
      }
      if (uses.nothing_added()) continue;
      uses.end_step();
      position_of_use.push_back(static_cast<std::int64_t>(m * operators + op));
    }
  }
  std::vector<Load> loads;
  for (const ChunkLoad& load : belady_loads(uses, plan.cache.blocks)) {
    loads.push_back({.chunk = load.chunk,
                     .block = buffers.blocks[load.block],
                     .victim = load.victim,
                     .needed_at = position_of_use[load.needed_at],
                     .free_after = load.free_after < 0 ? -1 : position_of_use[load.free_after]});
  }
  // A private chunk is loaded once and stays.
  for (std::size_t c = 0; c < plan.chunks.size(); ++c) {
    const BufferId block = buffers.of_chunk[c].private_block;
    if (block < 0 || needs.chunks[c].first_use < 0) continue;
    loads.push_back({.chunk = static_cast<std::int32_t>(c),
                     .block = block,
                     .needed_at = needs.chunks[c].first_use});
  }
  std::stable_sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
    return a.needed_at < b.needed_at;
  });
  return loads;
}

LoadQueue::LoadQueue(std::vector<Load> in_order_of_need)
    : loads_(std::move(in_order_of_need)), by_free_(by_freedom(loads_)) {}

}  // namespace elixir::schedule
