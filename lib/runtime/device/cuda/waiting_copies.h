// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Copies and clears of GPU memory that are finished when they return. cudaMemcpy() and cudaMemset()
// do not guarantee that: a cudaMemcpy() from pageable memory returns when the bytes are staged, a
// cudaMemset() when it is issued. Both use the legacy stream, for which the device's own streams do
// not wait. This class uses its own stream, which waits for no other stream, and waits until that
// stream is done.
//
// Pageable memory goes through two pinned pieces that all threads fill, which is several times as
// fast as the driver's staging. Not thread-safe.

#include <cstddef>
#include <optional>

#include "runtime/device/cuda/pinned_memory.h"
#include "runtime/device/stream_operations.h"

struct CUstream_st;
struct CUevent_st;

namespace elixir::runtime {

class WaitingCopies {
 public:
  /// Throws kDeviceFailure.
  explicit WaitingCopies(int threads);
  ~WaitingCopies();
  WaitingCopies(const WaitingCopies&) = delete;
  WaitingCopies& operator=(const WaitingCopies&) = delete;

  /// Copies between any two places; `host` copies inside the host. The caller must first wait for
  /// work that writes `from` or uses `to`. Throws kDeviceFailure.
  void copy(void* to, const void* from, std::size_t bytes, StreamOperations& host);
  void clear(void* device_memory, std::size_t bytes);

 private:
  static constexpr std::size_t kPieces = 2;
  void wait();
  [[nodiscard]] char* piece(std::size_t index);
  void copy_from_pageable(char* to, const char* from, std::size_t bytes, StreamOperations& host);
  void copy_to_pageable(char* to, const char* from, std::size_t bytes, StreamOperations& host);

  int threads_;
  CUstream_st* stream_ = nullptr;
  CUevent_st* done_[kPieces] = {};
  std::optional<PinnedMemory> staging_;  ///< allocated by the first large copy
};

}  // namespace elixir::runtime
