// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random numbers on the CPU, written once over Simd (kernel_body.h). random.h specifies them. The
// polynomials come from Cephes' logf, sinf and cosf (about one unit in the last place). The
// polynomials and every fused operation are part of the specification.

#include <cstddef>
#include <cstdint>

#include "kernels/conversion_body.h"
#include "kernels/random.h"

namespace elixir::kernels::body {

inline constexpr std::size_t kRandomLanes = 16;  // counters per block
inline constexpr std::size_t kRandomWords = 4;   // words per counter

template <class Simd>
struct Words {
  typename Simd::Int word[kRandomWords];
};

/// The words of the counters `counter` + 0, 1, … (one per lane). They must not cross a multiple of
/// 16.
template <class Simd>
Words<Simd> philox(std::uint64_t counter, std::uint32_t attempt, std::uint64_t key) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53U, kMultiplier1 = 0xCD9E8D57U;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9U, kWeyl1 = 0xBB67AE85U;
  constexpr int kRounds = 10;
  typename Simd::Int c0 =
      Simd::add_int(Simd::broadcast_int(static_cast<std::uint32_t>(counter)), Simd::lanes());
  typename Simd::Int c1 = Simd::broadcast_int(static_cast<std::uint32_t>(counter >> 32));
  typename Simd::Int c2 = Simd::broadcast_int(attempt);
  typename Simd::Int c3 = Simd::broadcast_int(0);
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < kRounds; ++round) {
    typename Simd::Int high0, low0, high1, low1;
    Simd::multiply_wide(c0, kMultiplier0, high0, low0);
    Simd::multiply_wide(c2, kMultiplier1, high1, low1);
    c0 = Simd::xor_int(Simd::xor_int(high1, c1), Simd::broadcast_int(k0));
    c1 = low1;
    c2 = Simd::xor_int(Simd::xor_int(high0, c3), Simd::broadcast_int(k1));
    c3 = low0;
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

/// -2 ln u, for u in [2^-32, 1].
template <class Simd>
typename Simd::Float minus_two_log(typename Simd::Float u) {
  using Float = typename Simd::Float;
  constexpr std::uint32_t kRootOfHalf = 0x3F3504F3U;  // mantissas start here
  constexpr std::uint32_t kBias = 64;                 // keeps exponents positive
  const auto bits = Simd::bits_of(u);
  const auto exponent =
      Simd::subtract_int(Simd::template shift_right<23>(
                             Simd::add_int(bits, Simd::broadcast_int((kBias << 23) - kRootOfHalf))),
                         Simd::broadcast_int(kBias));
  const Float mantissa =
      Simd::float_of(Simd::subtract_int(bits, Simd::template shift_left<23>(exponent)));
  const Float e = Simd::to_float(exponent);
  const Float x = Simd::add(mantissa, Simd::broadcast(-1.0F));
  const Float square = Simd::multiply(x, x);
  Float y = Simd::broadcast(7.0376836292E-2F);
  y = Simd::fused(y, x, Simd::broadcast(-1.1514610310E-1F));
  y = Simd::fused(y, x, Simd::broadcast(1.1676998740E-1F));
  y = Simd::fused(y, x, Simd::broadcast(-1.2420140846E-1F));
  y = Simd::fused(y, x, Simd::broadcast(1.4249322787E-1F));
  y = Simd::fused(y, x, Simd::broadcast(-1.6668057665E-1F));
  y = Simd::fused(y, x, Simd::broadcast(2.0000714765E-1F));
  y = Simd::fused(y, x, Simd::broadcast(-2.4999993993E-1F));
  y = Simd::fused(y, x, Simd::broadcast(3.3333331174E-1F));
  y = Simd::multiply(Simd::multiply(y, x), square);
  y = Simd::fused(e, Simd::broadcast(-2.12194440E-4F), y);  // ln 2 in two parts
  y = Simd::fused(square, Simd::broadcast(-0.5F), y);
  const Float log = Simd::fused(e, Simd::broadcast(0.693359375F), Simd::add(x, y));
  return Simd::multiply(log, Simd::broadcast(-2.0F));
}

/// Cosine and sine of `turn` / 2^32 of a full circle.
template <class Simd>
void cosine_and_sine(typename Simd::Int turn,
                     typename Simd::Float& cosine,
                     typename Simd::Float& sine) {
  using Float = typename Simd::Float;
  constexpr std::uint32_t kEighth = 0x20000000U;
  const auto quarter =
      Simd::template shift_right<30>(Simd::add_int(turn, Simd::broadcast_int(kEighth)));
  const auto rest = Simd::subtract_int(turn, Simd::template shift_left<30>(quarter));
  const Float a =
      Simd::multiply(Simd::to_float(rest), Simd::broadcast(1.4629180792671596E-9F));  // pi / 2^31
  const Float z = Simd::multiply(a, a);
  Float s = Simd::broadcast(-1.9515295891E-4F);
  s = Simd::fused(s, z, Simd::broadcast(8.3321608736E-3F));
  s = Simd::fused(s, z, Simd::broadcast(-1.6666654611E-1F));
  s = Simd::fused(Simd::multiply(s, z), a, a);
  Float c = Simd::broadcast(2.443315711809948E-5F);
  c = Simd::fused(c, z, Simd::broadcast(-1.388731625493765E-3F));
  c = Simd::fused(c, z, Simd::broadcast(4.166664568298827E-2F));
  c = Simd::fused(
      z, Simd::multiply(c, z), Simd::fused(z, Simd::broadcast(-0.5F), Simd::broadcast(1.0F)));
  // Odd quarters swap cosine and sine. The second and third quarter have a negative cosine, the
  // third and fourth a negative sine.
  const auto one = Simd::broadcast_int(1), two = Simd::broadcast_int(2);
  const auto swap = Simd::subtract_int(Simd::broadcast_int(0), Simd::and_int(quarter, one));
  const auto both = Simd::and_int(Simd::xor_int(Simd::bits_of(s), Simd::bits_of(c)), swap);
  const auto cosine_sign =
      Simd::template shift_left<30>(Simd::and_int(Simd::add_int(quarter, one), two));
  const auto sine_sign = Simd::template shift_left<30>(Simd::and_int(quarter, two));
  cosine = Simd::float_of(Simd::xor_int(Simd::xor_int(Simd::bits_of(c), both), cosine_sign));
  sine = Simd::float_of(Simd::xor_int(Simd::xor_int(Simd::bits_of(s), both), sine_sign));
}

template <class Simd>
void uniform_block(float* out, std::uint64_t block, std::uint64_t key, const Distribution& what) {
  const auto low = static_cast<float>(what.first);
  const float range = static_cast<float>(what.second) - low;
  for (std::size_t lane = 0; lane < kRandomLanes; lane += Simd::kWidth) {
    const Words<Simd> words = philox<Simd>(block * kRandomLanes + lane, 0, key);
    for (std::size_t w = 0; w < kRandomWords; ++w) {
      const auto share = Simd::multiply(
          Simd::to_float(Simd::template shift_right<8>(words.word[w])), Simd::broadcast(0x1p-24F));
      Simd::store(out + w * kRandomLanes + lane,
                  Simd::fused(Simd::broadcast(range), share, Simd::broadcast(low)));
    }
  }
}

template <class Simd>
void normal_block(float* out,
                  std::uint64_t block,
                  std::uint32_t attempt,
                  std::uint64_t key,
                  const Distribution& what) {
  const auto mean = Simd::broadcast(static_cast<float>(what.first));
  const auto deviation = Simd::broadcast(static_cast<float>(what.second));
  for (std::size_t lane = 0; lane < kRandomLanes; lane += Simd::kWidth) {
    const Words<Simd> words = philox<Simd>(block * kRandomLanes + lane, attempt, key);
    for (std::size_t w = 0; w < kRandomWords; w += 2) {
      const auto u = Simd::fused(Simd::to_float(Simd::template shift_right<1>(words.word[w])),
                                 Simd::broadcast(0x1p-31F),
                                 Simd::broadcast(0x1p-32F));
      const auto radius = Simd::square_root(minus_two_log<Simd>(u));
      typename Simd::Float cosine, sine;
      cosine_and_sine<Simd>(words.word[w + 1], cosine, sine);
      Simd::store(out + w * kRandomLanes + lane,
                  Simd::fused(deviation, Simd::multiply(radius, cosine), mean));
      Simd::store(out + (w + 1) * kRandomLanes + lane,
                  Simd::fused(deviation, Simd::multiply(radius, sine), mean));
    }
  }
}

template <class Simd>
void truncated_block(float* out, std::uint64_t block, std::uint64_t key, const Distribution& what) {
  const auto low = static_cast<float>(what.low), high = static_cast<float>(what.high);
  normal_block<Simd>(out, block, 0, key, what);
  for (std::uint32_t attempt = 1; attempt < kMostRandomAttempts; ++attempt) {
    bool outside = false;
    for (std::size_t i = 0; i < kRandomBlockElements; ++i) {
      outside |= out[i] < low || out[i] > high;
    }
    if (!outside) return;
    float again[kRandomBlockElements];
    normal_block<Simd>(again, block, attempt, key, what);
    for (std::size_t i = 0; i < kRandomBlockElements; ++i) {
      if (out[i] < low || out[i] > high) out[i] = again[i];
    }
  }
  for (std::size_t i = 0; i < kRandomBlockElements; ++i) {
    if (out[i] < low) out[i] = low;
    if (out[i] > high) out[i] = high;
  }
}

/// Writes elements `first`, a multiple of a block, to `first` + n.
template <class Simd>
void fill_random(void* out,
                 Element type,
                 std::size_t first,
                 std::size_t n,
                 const Distribution& what,
                 std::uint64_t key) {
  const DefaultFloatState state;
  const std::size_t bytes = type == Element::kFloat32 ? sizeof(float) : sizeof(std::uint16_t);
  float values[kRandomBlockElements];
  if (what.kind == Distribution::Kind::kConstant) {
    for (float& value : values) value = static_cast<float>(what.first);
  }
  for (std::size_t done = 0; done < n; done += kRandomBlockElements) {
    const std::uint64_t block = (first + done) / kRandomBlockElements;
    switch (what.kind) {
      case Distribution::Kind::kConstant:
        break;
      case Distribution::Kind::kUniform:
        uniform_block<Simd>(values, block, key, what);
        break;
      case Distribution::Kind::kNormal:
        normal_block<Simd>(values, block, 0, key, what);
        break;
      case Distribution::Kind::kTruncatedNormal:
        truncated_block<Simd>(values, block, key, what);
        break;
    }
    const std::size_t count = n - done < kRandomBlockElements ? n - done : kRandomBlockElements;
    convert<Simd>(static_cast<char*>(out) + done * bytes, type, values, count);
  }
}

}  // namespace elixir::kernels::body
