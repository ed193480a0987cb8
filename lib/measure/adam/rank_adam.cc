// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/adam/rank_adam.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu_affinity.h"

namespace elixir::measure {

RankAdam::Pools rank_pools(const Bench& bench, int ranks) {
  using kernels::Binding;
  using kernels::Caller;
  const int share = std::max(1, bench.pool->threads() / ranks);
  RankAdam::Pools pools;
  for (int rank = 0; rank < ranks; ++rank) {
    const kernels::CpuRange own{rank * share, share};
    const kernels::CpuRange cpus = bench.on_cuda() ? kernels::adam_cpus(own) : own;
    pools.push_back(std::make_unique<kernels::ThreadPool>(
        cpus.count,
        bench.on_cuda() ? Binding::kOneCpuEach : Binding::kNone,
        cpus.first,
        bench.on_cuda() ? Caller::kGivesJobs : Caller::kIsAThread));
  }
  return pools;
}

RankAdam::RankAdam(const AdamPass& pass, std::size_t parameters, SpreadMemory& memory, Pools pools)
    : pools_(std::move(pools)) {
  for (const auto& pool : pools_) {
    chunks_.push_back(
        std::make_unique<AdamChunks>(pass, parameters / pools_.size(), memory, *pool));
  }
}

int RankAdam::threads() const {
  int threads = 0;
  for (const auto& pool : pools_) threads += pool->threads();
  return threads;
}

void RankAdam::write(hardware::AdamWrites writes) {
  for (const auto& rank : chunks_) rank->write(writes);
}

std::size_t RankAdam::chunks() const {
  return chunks_.front()->count();
}

void RankAdam::begin(std::size_t chunks) {
  for (std::size_t i = 0; i < chunks; ++i) {
    for (const auto& rank : chunks_) rank->begin_next();
  }
}

void RankAdam::finish() {
  for (const auto& rank : chunks_) rank->finish();
}

void RankAdam::require_finite() const {
  for (const auto& rank : chunks_) rank->require_finite();
}

}  // namespace elixir::measure
