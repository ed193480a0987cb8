// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Host memory that all ranks of one machine see. It has no name: it is gone when the last process
// is, however that ends.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "runtime/ranks/communicator.h"

namespace elixir::runtime {

class SharedHostMemory {
 public:
  /// Zeros, at least `bytes` of them. nullptr on all ranks when some cannot see it: they are on
  /// several machines, or in containers that do not see each other's processes. Throws kRankLost.
  [[nodiscard]] static std::unique_ptr<SharedHostMemory> make(Communicator& ranks,
                                                              std::size_t bytes);
  ~SharedHostMemory();
  SharedHostMemory(const SharedHostMemory&) = delete;
  SharedHostMemory& operator=(const SharedHostMemory&) = delete;

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  ///< a multiple of the page

 private:
  SharedHostMemory(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  std::size_t bytes_;
};

}  // namespace elixir::runtime
