// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/device/cuda/pinned_memory.h"

#include <cstring>
#include <new>
#include <utility>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/log.h"
#include "core/units.h"
#include "kernels/cuda_kernels.h"
#include "kernels/thread_pool.h"

namespace elixir::runtime {

PinnedMemory::PinnedMemory(std::int64_t bytes, int touching_threads) {
  if (bytes == 0) return;
  const auto size = static_cast<std::size_t>(bytes);
  std::string refusal = "no address range is left";
  try {
    kernels::ThreadPool pool(touching_threads);
    kernels::HostArena arena(size, &pool, &kernels::cuda_page_lock());
    refusal = arena.warning();
    if (arena.locked()) {
      if (!refusal.empty()) log::warning(refusal);
      arena_.emplace(std::move(arena));
      data_ = arena_->data();
      return;
    }
  } catch (const std::bad_alloc&) {  // cudaHostAlloc is tried below
  }
  // Kernels write to this memory, so it must be locked.
  log::verbose(fmt::format("{}; asking CUDA for it", refusal));
  void* allocated = nullptr;
  const cudaError_t status =
      cudaHostAlloc(&allocated, size, cudaHostAllocPortable | cudaHostAllocMapped);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw Error(ErrorCode::kOutOfMemory,
                "no {} of page-locked host memory: {}",
                format_bytes(bytes),
                cudaGetErrorString(status))
        .help("raise the limit of locked memory (ulimit -l), or plan with less --host-memory");
  }
  std::memset(allocated, 0, size);
  data_ = static_cast<char*>(allocated);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), arena_(std::move(other.arena_)) {}

PinnedMemory::~PinnedMemory() {
  if (data_ != nullptr && !arena_) static_cast<void>(cudaFreeHost(data_));
}

}  // namespace elixir::runtime
