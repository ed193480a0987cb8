// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What AdamW on the CPU passes over in a training: chunks that lie far apart in the host's memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/adam.h"
#include "kernels/thread_pool.h"
#include "measure/adam/adam_pass.h"
#include "measure/host/spread_memory.h"

namespace elixir::measure {

class AdamChunks {
 public:
  /// Of `parameters` together. Few are one chunk, so that they may fit a cache; many are as many
  /// chunks as `memory` has stripes. Throws kOutOfMemory.
  AdamChunks(const AdamPass& pass,
             std::size_t parameters,
             SpreadMemory& memory,
             kernels::ThreadPool& pool);

  /// The runtime's kernel over all chunks, which overlap if the pool's caller gives jobs, as on a machine with a
  /// GPU. `step` begins with 1 and grows.
  void run(std::int64_t step);
  /// The same, and from then on, with another part written than the pass says.
  void run(std::int64_t step, hardware::AdamWrites writes);
  /// A value that is not finite is a bug.
  void require_finite() const;

  /// Of `memory`, at most.
  static constexpr std::int64_t kBytesPerParameter = 16;

 private:
  kernels::ThreadPool& pool_;
  SpreadMemory::Pieces pieces_;
  std::vector<kernels::AdamArrays> chunks_;
};

}  // namespace elixir::measure
