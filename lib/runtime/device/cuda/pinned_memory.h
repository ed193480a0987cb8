// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Page-locked host memory that GPUs access at the same addresses. It is an arena of exact size
// (kernels/host_arena.h), or memory from cudaHostAlloc where the system refuses to lock an arena.

#include <cstdint>
#include <optional>

#include "kernels/host_arena.h"

namespace elixir::runtime {

class PinnedMemory {
 public:
  /// The memory is zeroed. Throws kOutOfMemory when there is no room, or when it cannot be locked.
  PinnedMemory(std::int64_t bytes, int touching_threads);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&&) = delete;
  [[nodiscard]] char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::optional<kernels::HostArena> arena_;  ///< empty: data_ is from cudaHostAlloc
};

}  // namespace elixir::runtime
