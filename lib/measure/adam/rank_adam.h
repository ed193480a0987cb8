// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// AdamW on the CPU as a training's ranks do it at once: each with its own threads, over its part of
// the parameters.

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/thread_pool.h"
#include "measure/adam/adam_chunks.h"
#include "measure/adam/adam_pass.h"
#include "measure/measurement.h"

namespace elixir::measure {

/// Thread pools of `ranks` that divide the CPUs among them. On a machine with a GPU as a training
/// has them (kernels::adam_cpus), and the caller gives jobs; else the caller takes part.
[[nodiscard]] std::vector<std::unique_ptr<kernels::ThreadPool>> rank_pools(const Bench& bench,
                                                                           int ranks);

class RankAdam {
 public:
  using Pools = std::vector<std::unique_ptr<kernels::ThreadPool>>;
  /// Over `parameters` together, a rank for each pool. Throws kOutOfMemory.
  RankAdam(const AdamPass& pass, std::size_t parameters, SpreadMemory& memory, Pools pools);

  /// The threads of all ranks together.
  [[nodiscard]] int threads() const;
  /// What the chunks that begin from now on write.
  void write(hardware::AdamWrites writes);
  /// The number of chunks of each rank.
  [[nodiscard]] std::size_t chunks() const;
  /// Begins the next `chunks` of every rank; in turn, so that no rank waits while another one's are
  /// begun. Waits while all of a rank's chunks are under way, so that on average it takes as long
  /// as the slowest rank.
  void begin(std::size_t chunks);
  /// Returns when all have ended.
  void finish();
  /// A value that is not finite is a bug.
  void require_finite() const;

 private:
  Pools pools_;
  std::vector<std::unique_ptr<AdamChunks>> chunks_;  // by rank
};

}  // namespace elixir::measure
