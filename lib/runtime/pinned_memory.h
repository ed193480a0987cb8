// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Page-locked host memory of exact size. LibTorch's pinned allocator rounds up to powers of two and
// cudaHostAlloc faults pages on one thread, so large arenas are mapped, touched in parallel and
// registered.

#include <cstdint>

namespace elixir::runtime {

class PinnedMemory {
 public:
  /// Zeroed; GPUs can read and write it at the same addresses. kOutOfMemory when the system has no
  /// room or refuses to lock it.
  PinnedMemory(std::int64_t bytes, int touching_threads);
  ~PinnedMemory();
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&&) = delete;
  [[nodiscard]] char* data() const { return data_; }

 private:
  enum class Kind : std::uint8_t { kNothing, kRegistered, kAllocated };
  char* data_ = nullptr;
  std::int64_t bytes_ = 0;
  Kind kind_ = Kind::kNothing;
};

}  // namespace elixir::runtime
