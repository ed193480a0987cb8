// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What benchmarks of a GPU's streams share.

#include <cuda_runtime_api.h>

#include <atomic>
#include <thread>

namespace elixir::benchmarks {

/// Throws std::runtime_error.
void check(cudaError_t status);

/// Which no other stream waits for.
[[nodiscard]] cudaStream_t make_stream();

/// Copies between the current GPU and the host in both directions, until it is destroyed.
class BackgroundCopies {
 public:
  BackgroundCopies();
  ~BackgroundCopies();
  BackgroundCopies(const BackgroundCopies&) = delete;
  BackgroundCopies& operator=(const BackgroundCopies&) = delete;

 private:
  void copy() const;
  struct Direction {
    void *host = nullptr, *device = nullptr;
    cudaStream_t stream = nullptr;
  };
  int gpu_ = 0;
  Direction up_, down_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace elixir::benchmarks
