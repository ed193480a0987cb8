// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Puts the GPU's second-level cache into the state in which a program reaches a call: a call that
// is timed again and again finds everything there, in a training step it does not.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/reuse.h"
#include "replay/replay_call.h"

namespace elixir::measure {

class CacheState {
 public:
  /// `uses`: by program::recent_uses with limit_bytes(cache_bytes). Holds twice `cache_bytes` of
  /// device memory.
  CacheState(std::vector<program::Reuse> uses, std::int64_t cache_bytes);

  /// Touched memory after which nothing earlier is left in the cache: twice its size, because
  /// replacement is not strictly by age.
  [[nodiscard]] static std::int64_t limit_bytes(std::int64_t cache_bytes) {
    return 2 * cache_bytes;
  }

  /// Queues on the current stream: other traffic of limit_bytes, and between it the last uses of
  /// the storages, each as long ago as in the program. Values stay.
  void prepare(const replay::StorageTable& storages);

 private:
  void pass(std::int64_t bytes);

  std::vector<program::Reuse> uses_;
  std::int64_t limit_bytes_;
  at::Tensor from_, to_;
  std::int64_t position_ = 0;  ///< of the traffic in them
};

}  // namespace elixir::measure
