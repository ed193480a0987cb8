// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Copies and clears of a GPU's memory that are finished when they return. cudaMemcpy() and
// cudaMemset() are not: from pageable memory the former returns when the bytes are staged, the
// latter when it is issued, both on the legacy stream, for which the device's own streams do not
// wait. Here they run on one stream that waits for no other, and that stream is waited for. Pageable
// memory goes through two locked pieces, filled by all threads, which is several times as fast as
// the driver's staging. For one thread at a time.

#include <cstddef>
#include <optional>

#include "runtime/device/pinned_memory.h"
#include "runtime/device/stream_operations.h"

struct CUstream_st;
struct CUevent_st;

namespace elixir::runtime {

class WaitingCopies {
 public:
  /// kDeviceFailure.
  explicit WaitingCopies(int threads);
  ~WaitingCopies();
  WaitingCopies(const WaitingCopies&) = delete;
  WaitingCopies& operator=(const WaitingCopies&) = delete;

  /// Between any two places; `host` copies within the host. The caller waits for whoever writes
  /// `from` or uses `to`. kDeviceFailure.
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
  std::optional<PinnedMemory> staging_;  ///< from the first large copy on
};

}  // namespace elixir::runtime
