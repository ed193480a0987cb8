// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CPU kernels for AVX2 with FMA and F16C.
#include <immintrin.h>

#include "kernels/kernel_body.h"

namespace elixir::kernels {
namespace {

struct Avx2 {
  static constexpr std::size_t kWidth = 8;
  using Float = __m256;

  static Float load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Float value) { _mm256_storeu_ps(to, value); }
  static Float broadcast(float value) { return _mm256_set1_ps(value); }
  static Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  static Float multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  static Float divide(Float a, Float b) { return _mm256_div_ps(a, b); }
  /// b if either is a NaN.
  static Float larger(Float a, Float b) { return _mm256_max_ps(a, b); }
  static Float square_root(Float a) { return _mm256_sqrt_ps(a); }
  static Float fused(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }

  static Float load_bfloat16(const std::uint16_t* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static Float load_float16(const std::uint16_t* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  /// Rounds to nearest, ties away from zero, by adding half a unit to the magnitude. A NaN is
  /// truncated and kept quiet.
  static __m128i to_bfloat16(Float value) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_set1_epi32(0x8000));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
    const __m256i halves = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
    // packus works within 128-bit lanes. The permutation joins their lower halves.
    const __m256i packed = _mm256_packus_epi32(halves, halves);
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08));
  }
  static __m128i to_float16(Float value) {
    return _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static void store_bfloat16(std::uint16_t* to, Float value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), to_bfloat16(value));
  }
  static void store_float16(std::uint16_t* to, Float value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), to_float16(value));
  }
  static void stream_bfloat16(std::uint16_t* to, Float value) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), to_bfloat16(value));
  }
  static void stream_float16(std::uint16_t* to, Float value) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), to_float16(value));
  }

  static Float join(const std::uint16_t* upper, const std::int16_t* lower) {
    const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(upper));
    const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lower));
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_slli_epi32(_mm256_cvtepu16_epi32(high), 16),
                                                _mm256_cvtepi16_epi32(low)));
  }
  /// 0 for a NaN, because its upper half is not rounded.
  static void store_lower(std::int16_t* to, Float value) {
    const __m256i number = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_ORD_Q));
    const __m256i halves = _mm256_and_si256(_mm256_and_si256(_mm256_castps_si256(value), number),
                                            _mm256_set1_epi32(0xFFFF));
    const __m256i packed = _mm256_packus_epi32(halves, halves);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
  }

  using Int = __m256i;
  static Int broadcast_int(std::uint32_t value) {
    return _mm256_set1_epi32(static_cast<int>(value));
  }
  static Int lanes() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static Int add_int(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Int subtract_int(Int a, Int b) { return _mm256_sub_epi32(a, b); }
  static Int xor_int(Int a, Int b) { return _mm256_xor_si256(a, b); }
  static Int and_int(Int a, Int b) { return _mm256_and_si256(a, b); }
  template <int kBits>
  static Int shift_left(Int a) {
    return _mm256_slli_epi32(a, kBits);
  }
  template <int kBits>
  static Int shift_right(Int a) {
    return _mm256_srli_epi32(a, kBits);
  }
  static void multiply_wide(Int a, std::uint32_t b, Int& high, Int& low) {
    constexpr int kOdd = 0xAA;
    const Int factor = broadcast_int(b);
    const Int even = _mm256_mul_epu32(a, factor);
    const Int odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), factor);
    high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, kOdd);
    low = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), kOdd);
  }
  static Float to_float(Int a) { return _mm256_cvtepi32_ps(a); }
  static Int bits_of(Float a) { return _mm256_castps_si256(a); }
  static Float float_of(Int a) { return _mm256_castsi256_ps(a); }

  static constexpr std::size_t kRawBytes = 32;
  using Raw = __m256i;
  static Raw load_raw(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  static void store_raw(void* to, Raw raw) { _mm256_storeu_si256(static_cast<__m256i*>(to), raw); }
  static void stream_raw(void* to, Raw raw) { _mm256_stream_si256(static_cast<__m256i*>(to), raw); }
  static Raw opaque(Raw raw) {
    asm volatile("" : "+x"(raw));
    return raw;
  }

  static void prefetch(const void* address) {
    _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
  }
  static void fence() { _mm_sfence(); }
};

}  // namespace

const KernelTable kAvx2Kernels = body::make_table<Avx2>();

}  // namespace elixir::kernels
