// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Passes over host memory that do next to no arithmetic: what memory can do for a copy, for
// STREAM's triad, and for the streams of an optimizer pass.

#include <cstddef>

#include "kernels/thread_pool.h"

namespace elixir::measure {

/// Multiples of it keep every thread's part of every array on whole cache lines.
inline constexpr std::size_t kStreamGrain = 4096;

/// Streaming stores write lines past the caches without reading them first; one core alone may
/// write faster through the caches.
enum class Stores { kPlain, kStreaming };

/// to = from. `n` floats, arrays aligned to 64 bytes, n a multiple of
/// kStreamGrain.
void stream_copy(
    float* to, const float* from, std::size_t n, Stores stores, kernels::ThreadPool& pool);

/// a = b + scale * c. As above.
void stream_triad(float* a,
                  const float* b,
                  const float* c,
                  float scale,
                  std::size_t n,
                  Stores stores,
                  kernels::ThreadPool& pool);

}  // namespace elixir::measure
