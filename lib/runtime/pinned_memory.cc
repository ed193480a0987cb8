// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/pinned_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"
#include "core/units.h"

namespace elixir::runtime {
namespace {

/// Writes one byte a page, so that every page is there before it is locked.
void touch(char* data, std::int64_t bytes, int threads) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const std::int64_t part = round_up((bytes + threads - 1) / threads, page);
  std::vector<std::thread> workers;
  for (std::int64_t begin = 0; begin < bytes; begin += part) {
    workers.emplace_back([=] {
      const std::int64_t end = std::min(bytes, begin + part);
      for (std::int64_t at = begin; at < end; at += page) {
        *static_cast<volatile char*>(data + at) = 0;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

PinnedMemory::PinnedMemory(std::int64_t bytes, int touching_threads) : bytes_(bytes) {
  if (bytes == 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  void* mapped = mmap(
      nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped != MAP_FAILED) {
    static_cast<void>(madvise(mapped, size, MADV_HUGEPAGE));  // a hint; refusal costs speed alone
    touch(static_cast<char*>(mapped), bytes, std::max(touching_threads, 1));
    const cudaError_t status =
        cudaHostRegister(mapped, size, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (status == cudaSuccess) {
      data_ = static_cast<char*>(mapped);
      kind_ = Kind::kRegistered;
      return;
    }
    static_cast<void>(cudaGetLastError());
    munmap(mapped, size);
    log::verbose(fmt::format("locking {} of mapped memory failed ({}), asking CUDA for it",
                             format_bytes(bytes),
                             cudaGetErrorString(status)));
  }
  void* allocated = nullptr;
  const cudaError_t status =
      cudaHostAlloc(&allocated, size, cudaHostAllocPortable | cudaHostAllocMapped);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("no {} of page-locked host memory: {}",
                            format_bytes(bytes),
                            cudaGetErrorString(status)),
                {"raise the limit of locked memory (ulimit -l), or plan with less --host-memory"});
  }
  std::memset(allocated, 0, size);
  data_ = static_cast<char*>(allocated);
  kind_ = Kind::kAllocated;
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      kind_(std::exchange(other.kind_, Kind::kNothing)) {}

PinnedMemory::~PinnedMemory() {
  if (kind_ == Kind::kRegistered) {
    static_cast<void>(cudaHostUnregister(data_));
    munmap(data_, static_cast<std::size_t>(bytes_));
  } else if (kind_ == Kind::kAllocated) {
    static_cast<void>(cudaFreeHost(data_));
  }
}

}  // namespace elixir::runtime
