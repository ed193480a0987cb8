// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Host memory for measurements: whole pages from the system, touched by the threads that use them,
// like the runtime's arenas.

#include <cstddef>

#include "kernels/thread_pool.h"

namespace elixir::measure {

class HostMemory {
 public:
  /// Fills the memory with `byte`. Throws kOutOfMemory.
  HostMemory(std::size_t bytes, kernels::ThreadPool& pool, int byte = 0);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  [[nodiscard]] void* data() const { return data_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Random floats in [0.1, 1), which are neither denormal nor special.
void fill_random(float* values, std::size_t n, kernels::ThreadPool& pool);

}  // namespace elixir::measure
