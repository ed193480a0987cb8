// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/host/streams.h"

#include <emmintrin.h>

namespace elixir::measure {
namespace {

constexpr std::size_t kFloats = 4;  // per vector
constexpr std::size_t kLineFloats = 16;

/// to[i] = value(i), one cache line at a time.
template <class Value>
void write_lines(
    float* to, std::size_t n, Stores stores, kernels::ThreadPool& pool, const Value& value) {
  pool.parallel_for(n, kStreamGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += kLineFloats) {
      for (std::size_t j = i; j < i + kLineFloats; j += kFloats) {
        if (stores == Stores::kStreaming) {
          _mm_stream_ps(to + j, value(j));
        } else {
          _mm_store_ps(to + j, value(j));
        }
      }
    }
    _mm_sfence();
  });
}

}  // namespace

void stream_copy(
    float* to, const float* from, std::size_t n, Stores stores, kernels::ThreadPool& pool) {
  write_lines(to, n, stores, pool, [from](std::size_t i) { return _mm_load_ps(from + i); });
}

void stream_triad(float* a,
                  const float* b,
                  const float* c,
                  float scale,
                  std::size_t n,
                  Stores stores,
                  kernels::ThreadPool& pool) {
  const __m128 factor = _mm_set1_ps(scale);
  write_lines(a, n, stores, pool, [b, c, factor](std::size_t i) {
    return _mm_add_ps(_mm_load_ps(b + i), _mm_mul_ps(factor, _mm_load_ps(c + i)));
  });
}

}  // namespace elixir::measure
