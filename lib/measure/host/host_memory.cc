// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/host/host_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kGrainElements = 65536;

}  // namespace

std::int64_t uncached_bytes(std::int64_t least_bytes, std::int64_t last_level_cache_bytes) {
  constexpr std::int64_t kMost = 4_GiB, kTimes = 4;
  return std::max(least_bytes, std::min(kTimes * last_level_cache_bytes, kMost));
}

kernels::HostArena make_host_arena(std::size_t bytes,
                                   kernels::ThreadPool& pool,
                                   const kernels::PageLock* lock) try {
  return kernels::HostArena(bytes, &pool, lock);
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::kOutOfMemory,
              "the system has no {} left",
              format_bytes(static_cast<std::int64_t>(bytes)));
}

HostMemory::HostMemory(std::size_t bytes, kernels::ThreadPool& pool, int byte)
    : arena_(make_host_arena(bytes, pool)) {
  if (byte != 0) fill_bytes(arena_.data(), bytes, byte, pool);  // an arena begins with zeros
}

void fill_bytes(void* memory, std::size_t bytes, int byte, kernels::ThreadPool& pool) {
  pool.parallel_for(bytes, kGrainElements, [&](std::size_t begin, std::size_t end) {
    std::memset(static_cast<char*>(memory) + begin, byte, end - begin);
  });
}

}  // namespace elixir::measure
