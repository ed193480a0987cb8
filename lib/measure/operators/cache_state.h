// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Puts the GPU's second-level cache into the state it has when a program reaches a call. Without
// this, a call that is timed repeatedly finds all its data in the cache, unlike in a training step.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/reuse.h"
#include "replay/replay_call.h"

namespace elixir::measure {

class CacheState {
 public:
  /// `uses` is the result of program::recent_uses with limit_bytes(cache_bytes). Allocates twice
  /// `cache_bytes` of device memory.
  CacheState(std::vector<program::Reuse> uses, std::int64_t cache_bytes);

  /// After this much touched memory, the cache holds nothing older. It is twice the cache's size,
  /// because replacement is not strictly by age.
  [[nodiscard]] static std::int64_t limit_bytes(std::int64_t cache_bytes) {
    return 2 * cache_bytes;
  }

  /// Queues on the current stream limit_bytes of unrelated traffic and, in between, the last uses
  /// of the storages, each as long ago as in the program. The values do not change.
  void prepare(const replay::StorageTable& storages);

 private:
  void pass(std::int64_t bytes);

  std::vector<program::Reuse> uses_;
  std::int64_t limit_bytes_;
  at::Tensor from_, to_;
  std::int64_t position_ = 0;  ///< of the traffic in from_ and to_
};

}  // namespace elixir::measure
