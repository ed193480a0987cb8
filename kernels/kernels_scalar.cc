// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The CPU kernels in plain C++, for machines without AVX2, and as the simplest form of the
// arithmetic.
#include <cmath>
#include <cstring>

#include "kernels/kernel_body.h"

namespace elixir::kernels {
namespace {

std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct Scalar {
  static constexpr std::size_t kWidth = 1;
  using Float = float;

  static Float load(const float* from) { return *from; }
  static void store(float* to, Float value) { *to = value; }
  static Float broadcast(float value) { return value; }
  static Float add(Float a, Float b) { return a + b; }
  static Float multiply(Float a, Float b) { return a * b; }
  static Float divide(Float a, Float b) { return a / b; }
  /// b if either is a NaN.
  static Float larger(Float a, Float b) { return a > b ? a : b; }
  static Float square_root(Float a) { return std::sqrt(a); }
  static Float fused(Float a, Float b, Float c) { return std::fma(a, b, c); }

  static Float load_bfloat16(const std::uint16_t* from) {
    return float_of(static_cast<std::uint32_t>(*from) << 16);
  }
  static Float load_float16(const std::uint16_t* from) {
    const std::uint32_t sign = static_cast<std::uint32_t>(*from & 0x8000U) << 16;
    const std::uint32_t magnitude = *from & 0x7FFFU;
    if (magnitude >= 0x7C00U) {  // infinity, NaN (made quiet)
      const std::uint32_t fraction = (magnitude & 0x3FFU) << 13;
      return float_of(sign | 0x7F800000U | fraction | (fraction != 0 ? 0x00400000U : 0U));
    }
    if (magnitude < 0x400U) {  // zero, denormal: a multiple of 2^-24
      return float_of(sign | bits_of(static_cast<float>(magnitude) * 0x1p-24F));
    }
    return float_of(sign | ((magnitude << 13) + ((127U - 15U) << 23)));
  }
  /// Rounds to nearest, ties away from zero, by adding half a unit to the magnitude. A NaN is
  /// truncated and kept quiet.
  static void store_bfloat16(std::uint16_t* to, Float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t chosen = value != value ? bits | 0x00400000U : bits + 0x8000U;
    *to = static_cast<std::uint16_t>(chosen >> 16);
  }
  /// Rounds to nearest, ties to even.
  static void store_float16(std::uint16_t* to, Float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    std::uint32_t half = 0;
    if (magnitude > 0x7F800000U) {
      half = 0x7E00U | ((magnitude >> 13) & 0x3FFU);
    } else if (magnitude >= 0x47800000U) {  // 65536 and up
      half = 0x7C00U;
    } else if (magnitude >=
               0x38800000U) {  // 2^-14 and up: normal; a carry may correctly reach infinity
      half = (magnitude - ((127U - 15U) << 23) + 0xFFFU + ((magnitude >> 13) & 1U)) >> 13;
    } else {
      // Below 2^-14 the unit is 2^-24. Adding 0.5 makes the float's own unit 2^-24, so the addition
      // rounds.
      half = bits_of(float_of(magnitude) + 0.5F) - bits_of(0.5F);
    }
    *to = static_cast<std::uint16_t>(sign | half);
  }
  static void stream_bfloat16(std::uint16_t* to, Float value) { store_bfloat16(to, value); }
  static void stream_float16(std::uint16_t* to, Float value) { store_float16(to, value); }

  static Float join(const std::uint16_t* upper, const std::int16_t* lower) {
    return float_of((static_cast<std::uint32_t>(*upper) << 16) +
                    static_cast<std::uint32_t>(static_cast<std::int32_t>(*lower)));
  }
  /// 0 for a NaN, because its upper half is not rounded.
  static void store_lower(std::int16_t* to, Float value) {
    *to = static_cast<std::int16_t>(value != value ? 0U : bits_of(value) & 0xFFFFU);
  }

  using Int = std::uint32_t;
  static Int broadcast_int(std::uint32_t value) { return value; }
  static Int lanes() { return 0; }
  static Int add_int(Int a, Int b) { return a + b; }
  static Int subtract_int(Int a, Int b) { return a - b; }
  static Int xor_int(Int a, Int b) { return a ^ b; }
  static Int and_int(Int a, Int b) { return a & b; }
  template <int kBits>
  static Int shift_left(Int a) {
    return a << kBits;
  }
  template <int kBits>
  static Int shift_right(Int a) {
    return a >> kBits;
  }
  static void multiply_wide(Int a, std::uint32_t b, Int& high, Int& low) {
    const std::uint64_t product = std::uint64_t{a} * b;
    high = static_cast<Int>(product >> 32);
    low = static_cast<Int>(product);
  }
  static Float to_float(Int a) { return static_cast<float>(static_cast<std::int32_t>(a)); }
  static Int bits_of(Float a) { return kernels::bits_of(a); }
  static Float float_of(Int a) { return kernels::float_of(a); }

  static constexpr std::size_t kRawBytes = 8;
  using Raw = std::uint64_t;
  static Raw load_raw(const void* from) {
    Raw raw = 0;
    std::memcpy(&raw, from, sizeof raw);
    return raw;
  }
  static void store_raw(void* to, Raw raw) { std::memcpy(to, &raw, sizeof raw); }
  static void stream_raw(void* to, Raw raw) { store_raw(to, raw); }
  static Raw opaque(Raw raw) {
    asm volatile("" : "+r"(raw));
    return raw;
  }

  static void prefetch(const void*) {}
  static void fence() {}
};

}  // namespace

const KernelTable kScalarKernels = body::make_table<Scalar>();

}  // namespace elixir::kernels
