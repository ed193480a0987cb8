// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "measure/streams.h"

#include <emmintrin.h>

#include <algorithm>

namespace elixir::measure {
namespace {

constexpr std::size_t kFloats = 4;  // of a vector
constexpr std::size_t kLineFloats = 16;
constexpr std::size_t kHalves = 8;
/// Bytes ahead of the present line: four arrays are more than the hardware follows well.
constexpr std::size_t kAhead = 512;

__m128i load(const void* at) {
  return _mm_load_si128(static_cast<const __m128i*>(at));
}
void store(void* at, __m128i value) {
  _mm_store_si128(static_cast<__m128i*>(at), value);
}
void prefetch(const void* at) {
  _mm_prefetch(static_cast<const char*>(at) + kAhead, _MM_HINT_T0);
}

/// Combines sixteen gradients, widened to 32 bits, into one cache line of a state.
void combine(std::uint32_t* state, const __m128i (&gradients)[4]) {
  prefetch(state);
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint32_t* at = state + i * kFloats;
    store(at, _mm_xor_si128(load(at), gradients[i]));
  }
}

/// to[i] = value(i), a cache line at a time.
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

void stream_adam(const AdamStreams& arrays, std::size_t n, kernels::ThreadPool& pool) {
  pool.parallel_for(n, kStreamGrain, [&](std::size_t begin, std::size_t end) {
    const __m128i zero = _mm_setzero_si128();
    for (std::size_t i = begin; i < end; i += kLineFloats) {
      const __m128i low = load(arrays.gradient + i), high = load(arrays.gradient + i + kHalves);
      prefetch(arrays.gradient + i);
      const __m128i wide[4] = {_mm_unpacklo_epi16(zero, low),
                               _mm_unpackhi_epi16(zero, low),
                               _mm_unpacklo_epi16(zero, high),
                               _mm_unpackhi_epi16(zero, high)};
      combine(arrays.master + i, wide);
      combine(arrays.moment1 + i, wide);
      combine(arrays.moment2 + i, wide);
      auto* out = reinterpret_cast<__m128i*>(arrays.parameter + i);
      _mm_stream_si128(out, low);
      _mm_stream_si128(out + 1, high);
    }
    _mm_sfence();
  });
}

}  // namespace elixir::measure
