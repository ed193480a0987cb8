// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Records what LibTorch's CUDA caching allocator is asked for while a call runs. One per process,
// because LibTorch has no way to end it. Not for several threads.

#include <cstdint>
#include <unordered_map>

#include "gpu/scratch/requests.h"

namespace elixir::tests {

class AllocatorWatch {
 public:
  /// Needs a CUDA device.
  static AllocatorWatch& instance();

  void start();
  void stop() { watching_ = false; }
  /// The requests of the last call. `is_result(address)` says whether a result lies there.
  template <class IsResult>
  [[nodiscard]] Requests requests(IsResult is_result) const {
    Requests requests = requests_;
    for (const auto& [address, request] : live_) {
      requests.list.at(static_cast<std::size_t>(request)).result = is_result(address);
    }
    return requests;
  }

 private:
  AllocatorWatch();

  bool watching_ = false;
  Requests requests_;
  std::unordered_map<std::uint64_t, int> live_;  ///< requests of the call by address
};

}  // namespace elixir::tests
