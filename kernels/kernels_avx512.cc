// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CPU kernels for AVX-512 (F, BW, DQ, VL). They do not use vcvtneps2bf16, because it flushes
// denormals and rounds ties to even.
#include <immintrin.h>

#include "kernels/kernel_body.h"

namespace elixir::kernels {
namespace {

struct Avx512 {
  static constexpr std::size_t kWidth = 16;
  using Float = __m512;

  static Float load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Float value) { _mm512_storeu_ps(to, value); }
  static Float broadcast(float value) { return _mm512_set1_ps(value); }
  static Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  static Float multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  static Float divide(Float a, Float b) { return _mm512_div_ps(a, b); }
  /// b if either is a NaN.
  static Float larger(Float a, Float b) { return _mm512_max_ps(a, b); }
  static Float square_root(Float a) { return _mm512_sqrt_ps(a); }
  static Float fused(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }

  static Float load_bfloat16(const std::uint16_t* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static Float load_float16(const std::uint16_t* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  /// Rounds to nearest, ties away from zero, by adding half a unit to the magnitude. A NaN is
  /// truncated and kept quiet.
  static __m256i to_bfloat16(Float value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    const __m512i rounded = _mm512_add_epi32(bits, _mm512_set1_epi32(0x8000));
    const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
    return _mm512_cvtepi32_epi16(
        _mm512_srli_epi32(_mm512_mask_blend_epi32(nan, rounded, quiet), 16));
  }
  static __m256i to_float16(Float value) {
    return _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static void store_bfloat16(std::uint16_t* to, Float value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), to_bfloat16(value));
  }
  static void store_float16(std::uint16_t* to, Float value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), to_float16(value));
  }
  static void stream_bfloat16(std::uint16_t* to, Float value) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), to_bfloat16(value));
  }
  static void stream_float16(std::uint16_t* to, Float value) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), to_float16(value));
  }

  static Float join(const std::uint16_t* upper, const std::int16_t* lower) {
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(upper));
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lower));
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16),
                                                _mm512_cvtepi16_epi32(low)));
  }
  /// 0 for a NaN, because its upper half is not rounded.
  static void store_lower(std::int16_t* to, Float value) {
    const __mmask16 number = _mm512_cmp_ps_mask(value, value, _CMP_ORD_Q);
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(to),
        _mm512_cvtepi32_epi16(_mm512_maskz_mov_epi32(number, _mm512_castps_si512(value))));
  }

  using Int = __m512i;
  static Int broadcast_int(std::uint32_t value) {
    return _mm512_set1_epi32(static_cast<int>(value));
  }
  static Int lanes() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  static Int add_int(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int subtract_int(Int a, Int b) { return _mm512_sub_epi32(a, b); }
  static Int xor_int(Int a, Int b) { return _mm512_xor_si512(a, b); }
  static Int and_int(Int a, Int b) { return _mm512_and_si512(a, b); }
  template <int kBits>
  static Int shift_left(Int a) {
    return _mm512_slli_epi32(a, kBits);
  }
  template <int kBits>
  static Int shift_right(Int a) {
    return _mm512_srli_epi32(a, kBits);
  }
  static void multiply_wide(Int a, std::uint32_t b, Int& high, Int& low) {
    constexpr __mmask16 kOdd = 0xAAAA;
    const Int factor = broadcast_int(b);
    const Int even = _mm512_mul_epu32(a, factor);
    const Int odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);
    high = _mm512_mask_blend_epi32(kOdd, _mm512_srli_epi64(even, 32), odd);
    low = _mm512_mask_blend_epi32(kOdd, even, _mm512_slli_epi64(odd, 32));
  }
  static Float to_float(Int a) { return _mm512_cvtepi32_ps(a); }
  static Int bits_of(Float a) { return _mm512_castps_si512(a); }
  static Float float_of(Int a) { return _mm512_castsi512_ps(a); }

  static constexpr std::size_t kRawBytes = 64;
  using Raw = __m512i;
  static Raw load_raw(const void* from) { return _mm512_loadu_si512(from); }
  static void store_raw(void* to, Raw raw) { _mm512_storeu_si512(to, raw); }
  static void stream_raw(void* to, Raw raw) { _mm512_stream_si512(static_cast<__m512i*>(to), raw); }
  static Raw opaque(Raw raw) {
    asm volatile("" : "+v"(raw));
    return raw;
  }

  static void prefetch(const void* address) {
    _mm_prefetch(static_cast<const char*>(address), _MM_HINT_T0);
  }
  static void fence() { _mm_sfence(); }
};

}  // namespace

const KernelTable kAvx512Kernels = body::make_table<Avx512>();

}  // namespace elixir::kernels
