// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Host memory for measurements: the runtime's arena, because the size of pages alone changes rates
// by a sixth.

#include <cstddef>
#include <cstdint>

#include "kernels/host_arena.h"
#include "kernels/thread_pool.h"

namespace elixir::measure {

class HostMemory {
 public:
  /// Fills the memory with `byte`. Throws kOutOfMemory.
  HostMemory(std::size_t bytes, kernels::ThreadPool& pool, int byte = 0);
  [[nodiscard]] void* data() const { return arena_.data(); }
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(arena_.data());
  }
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }

 private:
  kernels::HostArena arena_;
};

/// How large memory must be for a pass over it to be hardly served by the caches: four times the
/// last level, as far as that is not above 4 GiB (virtual machines may report the caches of the
/// whole host), and at least `least_bytes`.
[[nodiscard]] std::int64_t uncached_bytes(std::int64_t least_bytes,
                                          std::int64_t last_level_cache_bytes);

/// An arena whose pages `pool` allocates. Throws kOutOfMemory.
[[nodiscard]] kernels::HostArena make_host_arena(std::size_t bytes,
                                                 kernels::ThreadPool& pool,
                                                 const kernels::PageLock* lock = nullptr);

void fill_bytes(void* memory, std::size_t bytes, int byte, kernels::ThreadPool& pool);

}  // namespace elixir::measure
