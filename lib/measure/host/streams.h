// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Passes over host memory with almost no arithmetic. They measure the memory rate of a copy, of
// STREAM's triad, and of the memory streams of an optimizer pass.

#include <cstddef>

#include "kernels/thread_pool.h"

namespace elixir::measure {

/// With multiples of this, every thread's part of every array is whole cache lines.
inline constexpr std::size_t kStreamGrain = 4096;

/// Streaming stores bypass the caches and do not read lines first. A single core may write faster
/// through the caches.
enum class Stores { kPlain, kStreaming };

/// to = from. `n` floats, a multiple of kStreamGrain. Arrays must be aligned to 64 bytes.
void stream_copy(
    float* to, const float* from, std::size_t n, Stores stores, kernels::ThreadPool& pool);

/// a = b + scale * c. Same rules.
void stream_triad(float* a,
                  const float* b,
                  const float* c,
                  float scale,
                  std::size_t n,
                  Stores stores,
                  kernels::ThreadPool& pool);

}  // namespace elixir::measure
