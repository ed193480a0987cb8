// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What benchmarks of a GPU's streams share.

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <thread>

namespace elixir::benchmarks {

/// Throws std::runtime_error.
void check(cudaError_t status);

/// Which no other stream waits for.
[[nodiscard]] cudaStream_t make_stream();

/// As much pinned memory of the host as of the current GPU, and a stream for copies between them.
class CopyPlace {
 public:
  explicit CopyPlace(std::size_t bytes);
  ~CopyPlace();
  CopyPlace(const CopyPlace&) = delete;
  CopyPlace& operator=(const CopyPlace&) = delete;
  /// Enqueues a copy of all of it.
  void copy(cudaMemcpyKind direction) const;
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  std::size_t bytes_;
  void *host_ = nullptr, *device_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// Copies between the current GPU and the host in both directions, until it is destroyed.
class BackgroundCopies {
 public:
  BackgroundCopies();
  ~BackgroundCopies();
  BackgroundCopies(const BackgroundCopies&) = delete;
  BackgroundCopies& operator=(const BackgroundCopies&) = delete;

 private:
  void copy() const;
  int gpu_ = 0;
  CopyPlace up_, down_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace elixir::benchmarks
