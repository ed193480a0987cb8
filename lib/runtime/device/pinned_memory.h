// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Page-locked host memory that GPUs read and write at the same addresses: an arena of exact size
// (kernels/host_arena.h), or what cudaHostAlloc gives where the system refuses to lock one.

#include <cstdint>
#include <optional>

#include "kernels/host_arena.h"

namespace elixir::runtime {

class PinnedMemory {
 public:
  /// Zeroed. kOutOfMemory when the system has no room or refuses to lock it.
  PinnedMemory(std::int64_t bytes, int touching_threads);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&&) = delete;
  [[nodiscard]] char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::optional<kernels::HostArena> arena_;  ///< none: data_ is CUDA's
};

}  // namespace elixir::runtime
