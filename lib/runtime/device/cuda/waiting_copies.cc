// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/device/cuda/waiting_copies.h"

#include <algorithm>
#include <cstdint>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "replay/cuda_status.h"

namespace elixir::runtime {
namespace {

using replay::check_cuda;

constexpr std::size_t kPieceBytes = std::size_t{16} << 20;
/// Smaller copies are left to the driver.
constexpr std::size_t kWorthStagingBytes = std::size_t{1} << 20;

enum class Place { kPageable, kPinned, kDevice };

Place place_of(const void* memory) {
  cudaPointerAttributes attributes{};
  check_cuda(cudaPointerGetAttributes(&attributes, memory), "asking where memory is");
  switch (attributes.type) {
    case cudaMemoryTypeUnregistered:
      return Place::kPageable;
    case cudaMemoryTypeHost:
      return Place::kPinned;
    default:
      return Place::kDevice;
  }
}

}  // namespace

WaitingCopies::WaitingCopies(int threads) : threads_(threads) {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  for (CUevent_st*& event : done_) {
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
  }
}

WaitingCopies::~WaitingCopies() {
  for (CUevent_st* event : done_) static_cast<void>(cudaEventDestroy(event));
  static_cast<void>(cudaStreamDestroy(stream_));
}

void WaitingCopies::wait() {
  check_cuda(cudaStreamSynchronize(stream_), "waiting for a copy");
}

char* WaitingCopies::piece(std::size_t index) {
  if (!staging_) staging_.emplace(static_cast<std::int64_t>(kPieces * kPieceBytes), threads_);
  return staging_->data() + index * kPieceBytes;
}

void WaitingCopies::clear(void* device_memory, std::size_t bytes) {
  check_cuda(cudaMemsetAsync(device_memory, 0, bytes, stream_), "clearing memory");
  wait();
}

void WaitingCopies::copy(void* to, const void* from, std::size_t bytes, StreamOperations& host) {
  if (bytes == 0) return;
  const Place source = place_of(from), destination = place_of(to);
  if (source != Place::kDevice && destination != Place::kDevice) {
    host.copy(to, from, static_cast<std::int64_t>(bytes));
  } else if (source == Place::kPageable && bytes >= kWorthStagingBytes) {
    copy_from_pageable(static_cast<char*>(to), static_cast<const char*>(from), bytes, host);
  } else if (destination == Place::kPageable && bytes >= kWorthStagingBytes) {
    copy_to_pageable(static_cast<char*>(to), static_cast<const char*>(from), bytes, host);
  } else {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying");
  }
  wait();
}

void WaitingCopies::copy_from_pageable(char* to,
                                       const char* from,
                                       std::size_t bytes,
                                       StreamOperations& host) {
  std::size_t next = 0;
  for (std::size_t done = 0; done < bytes; done += kPieceBytes, next = (next + 1) % kPieces) {
    const std::size_t count = std::min(kPieceBytes, bytes - done);
    // Waits for the piece's last transfer. An event that was never recorded counts as complete.
    check_cuda(cudaEventSynchronize(done_[next]), "waiting for a copy");
    host.copy(piece(next), from + done, static_cast<std::int64_t>(count));
    check_cuda(cudaMemcpyAsync(to + done, piece(next), count, cudaMemcpyDefault, stream_),
               "copying");
    check_cuda(cudaEventRecord(done_[next], stream_), "copying");
  }
}

void WaitingCopies::copy_to_pageable(char* to,
                                     const char* from,
                                     std::size_t bytes,
                                     StreamOperations& host) {
  const auto fetch = [&](std::size_t begin, std::size_t index) {
    if (begin >= bytes) return;
    const std::size_t count = std::min(kPieceBytes, bytes - begin);
    check_cuda(cudaMemcpyAsync(piece(index), from + begin, count, cudaMemcpyDefault, stream_),
               "copying");
    check_cuda(cudaEventRecord(done_[index], stream_), "copying");
  };
  fetch(0, 0);
  std::size_t now = 0;
  for (std::size_t done = 0; done < bytes; done += kPieceBytes, now = (now + 1) % kPieces) {
    fetch(done + kPieceBytes, (now + 1) % kPieces);  // overlaps with the host's copy of this piece
    check_cuda(cudaEventSynchronize(done_[now]), "waiting for a copy");
    host.copy(
        to + done, piece(now), static_cast<std::int64_t>(std::min(kPieceBytes, bytes - done)));
  }
}

}  // namespace elixir::runtime
