// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What AdamW on the CPU passes over in a training: chunks that lie far apart in the host's memory.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/adam.h"
#include "kernels/thread_pool.h"
#include "measure/adam/adam_pass.h"
#include "measure/host/spread_memory.h"

namespace elixir::measure {

class AdamChunks {
 public:
  /// Chunks with `parameters` parameters together. Fewer than kFewParameters are one chunk, so that
  /// they may fit a cache. More are cut into chunks of at most `most_in_chunk` in each stripe of
  /// `memory`. Throws kOutOfMemory.
  AdamChunks(const AdamPass& pass,
             std::size_t parameters,
             SpreadMemory& memory,
             kernels::ThreadPool& pool,
             std::size_t most_in_chunk = kMostInChunk);

  [[nodiscard]] std::size_t count() const { return chunks_.size(); }
  /// What the chunks that begin from now on write.
  void write(hardware::AdamWrites writes);
  /// Begins the runtime's kernel over the next chunk, in turn, as soon as its last pass has ended.
  /// If the pool's caller gives jobs, as on a machine with a GPU, chunks overlap; else it has ended
  /// on return.
  void begin_next();
  /// Returns when all have ended.
  void finish();
  /// A value that is not finite is a bug.
  void require_finite() const;

  static constexpr std::size_t kFewParameters = std::size_t{8} << 20;
  static constexpr std::size_t kMostInChunk = std::size_t{32} << 20;
  /// Most bytes of `memory` that a parameter takes.
  static constexpr std::int64_t kBytesPerParameter = 16;

 private:
  kernels::ThreadPool& pool_;
  std::optional<SpreadMemory::Pieces> pieces_;
  std::vector<kernels::AdamArrays> chunks_;
  std::vector<std::uint64_t> jobs_;  ///< by chunk, the last one
  std::size_t begun_ = 0;            ///< chunks, in all passes
};

}  // namespace elixir::measure
