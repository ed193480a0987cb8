// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/host/host_memory.h"

#include <cstdint>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace elixir::measure {
namespace {

constexpr std::size_t kGrainElements = 65536;

kernels::HostArena arena_of(std::size_t bytes, kernels::ThreadPool& pool) try {
  return kernels::HostArena(bytes, &pool);
} catch (const std::bad_alloc&) {
  throw Error(ErrorCode::kOutOfMemory,
              "the system has no {} left",
              format_bytes(static_cast<std::int64_t>(bytes)));
}

}  // namespace

HostMemory::HostMemory(std::size_t bytes, kernels::ThreadPool& pool, int byte)
    : arena_(arena_of(bytes, pool)) {
  if (byte == 0) return;  // as an arena begins
  pool.parallel_for(bytes, kGrainElements, [&](std::size_t begin, std::size_t end) {
    std::memset(arena_.data() + begin, byte, end - begin);
  });
}

void fill_random(float* values, std::size_t n, kernels::ThreadPool& pool) {
  pool.parallel_for(n, kGrainElements, [&](std::size_t begin, std::size_t end) {
    std::uint64_t state = begin * 0x9E3779B97F4A7C15ULL + 1;
    for (std::size_t i = begin; i < end; ++i) {
      state ^= state << 13;  // xorshift64
      state ^= state >> 7;
      state ^= state << 17;
      values[i] = 0.1F + 0.9F * static_cast<float>(state >> 40) * 0x1p-24F;
    }
  });
}

}  // namespace elixir::measure
