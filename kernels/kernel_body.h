// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The CPU kernels, written once over a vector type `Simd` that each instruction set's translation
// unit defines in an anonymous namespace. That namespace gives every instantiation internal
// linkage: the linker must never take an AVX-512 instance for the scalar one, which is why no
// inline function of the standard library is called here either.
//
// Simd: kWidth; Float; load, store, broadcast, add, multiply, divide, square_root, fused (a*b+c);
// load_bfloat16, load_float16; store_bfloat16, store_float16; stream_bfloat16, stream_float16
// (aligned, past the cache); prefetch; fence.
//
// Fewer elements than a block go through a zero-padded copy and the same vector instructions, so
// that lengths and alignments cannot change bits.

#include <xmmintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/kernel_table.h"

namespace elixir::kernels::body {

inline constexpr std::size_t kBlockElements = 32;  // one cache line of a 16-bit type
inline constexpr std::size_t kPrefetchElements = 1024;
inline constexpr std::size_t kCacheLineBytes = 64;
/// From here on the written parameters leave the caches anyway before somebody reads them.
inline constexpr std::size_t kStreamFromElements = std::size_t{1} << 20;
inline constexpr std::size_t kNormLanes = 1024;

/// Rounding to nearest, denormals kept, whatever the thread was set to.
class DefaultFloatState {
 public:
  DefaultFloatState() : saved_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~DefaultFloatState() { _mm_setcsr(saved_); }
  DefaultFloatState(const DefaultFloatState&) = delete;
  DefaultFloatState& operator=(const DefaultFloatState&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1F80;
  unsigned saved_;
};

template <Element kType>
struct StoredAs {
  using Type = std::uint16_t;
};
template <>
struct StoredAs<Element::kFloat32> {
  using Type = float;
};
template <Element kType>
using Stored = typename StoredAs<kType>::Type;

template <class Simd, Element kType>
typename Simd::Float load_as(const Stored<kType>* from) {
  if constexpr (kType == Element::kFloat32) {
    return Simd::load(from);
  } else if constexpr (kType == Element::kBFloat16) {
    return Simd::load_bfloat16(from);
  } else {
    return Simd::load_float16(from);
  }
}

template <class Simd, Element kType, bool kStream>
void store_as(Stored<kType>* to, typename Simd::Float value) {
  if constexpr (kType == Element::kFloat32) {
    Simd::store(to, value);
  } else if constexpr (kType == Element::kBFloat16) {
    if constexpr (kStream) {
      Simd::stream_bfloat16(to, value);
    } else {
      Simd::store_bfloat16(to, value);
    }
  } else {
    if constexpr (kStream) {
      Simd::stream_float16(to, value);
    } else {
      Simd::store_float16(to, value);
    }
  }
}

// --- AdamW
// ----------------------------------------------------------------------------------------------------

/// What a pass does with the gradient and the parameter; the arithmetic is the same.
enum class Output : std::uint8_t { kNone, kStore, kStream };
enum class Scale : std::uint8_t { kNone, kDivideAndClip };

template <class Simd>
struct AdamConstants {
  typename Simd::Float beta1, one_minus_beta1, beta2, one_minus_beta2, inverse_sqrt_bias2, eps;
  typename Simd::Float decay, negative_step, divisor, clip;
};

template <class Simd, Element kGradient, Element kParameter, Output kOutput, Scale kScale>
void adam_block(float* master,
                float* moment1,
                float* moment2,
                const Stored<kGradient>* gradient,
                Stored<kParameter>* parameter,
                const AdamConstants<Simd>& c) {
  for (std::size_t i = 0; i < kBlockElements; i += Simd::kWidth) {
    auto g = load_as<Simd, kGradient>(gradient + i);
    // Division by 1 and multiplication by 1 are exact, so one variant serves both factors.
    if constexpr (kScale == Scale::kDivideAndClip) {
      g = Simd::multiply(Simd::divide(g, c.divisor), c.clip);
    }
    const auto m =
        Simd::fused(c.beta1, Simd::load(moment1 + i), Simd::multiply(c.one_minus_beta1, g));
    const auto v = Simd::fused(
        c.beta2, Simd::load(moment2 + i), Simd::multiply(Simd::multiply(c.one_minus_beta2, g), g));
    const auto d = Simd::fused(Simd::square_root(v), c.inverse_sqrt_bias2, c.eps);
    auto p = Simd::multiply(Simd::load(master + i), c.decay);
    p = Simd::fused(c.negative_step, Simd::divide(m, d), p);
    Simd::store(moment1 + i, m);
    Simd::store(moment2 + i, v);
    Simd::store(master + i, p);
    if constexpr (kOutput != Output::kNone) {
      store_as<Simd, kParameter, kOutput == Output::kStream>(parameter + i, p);
    }
  }
}

template <class Simd, Element kGradient, Element kParameter, Output kOutput, Scale kScale>
void adam_range(const AdamArrays& arrays, const AdamScalars& scalars) {
  const AdamConstants<Simd> c = {
      Simd::broadcast(scalars.beta1),
      Simd::broadcast(scalars.one_minus_beta1),
      Simd::broadcast(scalars.beta2),
      Simd::broadcast(scalars.one_minus_beta2),
      Simd::broadcast(scalars.inverse_sqrt_bias2),
      Simd::broadcast(scalars.eps),
      Simd::broadcast(scalars.decay),
      Simd::broadcast(scalars.negative_step),
      Simd::broadcast(scalars.divisor),
      Simd::broadcast(scalars.clip),
  };
  const auto* gradient = static_cast<const Stored<kGradient>*>(arrays.gradient);
  auto* parameter = static_cast<Stored<kParameter>*>(arrays.parameter);
  constexpr std::size_t kFloatsPerLine = kCacheLineBytes / sizeof(float);
  constexpr std::size_t kGradientsPerLine = kCacheLineBytes / sizeof(Stored<kGradient>);
  std::size_t i = 0;
  for (; i + kBlockElements <= arrays.n; i += kBlockElements) {
    const std::size_t ahead = i + kPrefetchElements;
    for (std::size_t line = 0; line < kBlockElements; line += kFloatsPerLine) {
      Simd::prefetch(arrays.master + ahead + line);
      Simd::prefetch(arrays.moment1 + ahead + line);
      Simd::prefetch(arrays.moment2 + ahead + line);
    }
    for (std::size_t line = 0; line < kBlockElements; line += kGradientsPerLine) {
      Simd::prefetch(gradient + ahead + line);
    }
    adam_block<Simd, kGradient, kParameter, kOutput, kScale>(
        arrays.master + i,
        arrays.moment1 + i,
        arrays.moment2 + i,
        gradient + i,
        parameter + (kOutput == Output::kNone ? 0 : i),
        c);
  }
  const std::size_t rest = arrays.n - i;
  if (rest > 0) {
    float master[kBlockElements] = {}, moment1[kBlockElements] = {}, moment2[kBlockElements] = {};
    Stored<kGradient> gradients[kBlockElements] = {};
    Stored<kParameter> parameters[kBlockElements] = {};
    std::memcpy(master, arrays.master + i, rest * sizeof(float));
    std::memcpy(moment1, arrays.moment1 + i, rest * sizeof(float));
    std::memcpy(moment2, arrays.moment2 + i, rest * sizeof(float));
    std::memcpy(gradients, gradient + i, rest * sizeof(gradients[0]));
    constexpr Output kPlain = kOutput == Output::kNone ? Output::kNone : Output::kStore;
    adam_block<Simd, kGradient, kParameter, kPlain, kScale>(
        master, moment1, moment2, gradients, parameters, c);
    std::memcpy(arrays.master + i, master, rest * sizeof(float));
    std::memcpy(arrays.moment1 + i, moment1, rest * sizeof(float));
    std::memcpy(arrays.moment2 + i, moment2, rest * sizeof(float));
    if constexpr (kOutput != Output::kNone) {
      std::memcpy(parameter + i, parameters, rest * sizeof(parameters[0]));
    }
  }
  if constexpr (kOutput == Output::kStream) Simd::fence();
}

template <class Simd, Element kGradient, Element kParameter, Output kOutput>
void adam_scaled(const AdamArrays& arrays, const AdamScalars& scalars) {
  if (scalars.divisor != 1.0F || scalars.clip != 1.0F) {
    adam_range<Simd, kGradient, kParameter, kOutput, Scale::kDivideAndClip>(arrays, scalars);
  } else {
    adam_range<Simd, kGradient, kParameter, kOutput, Scale::kNone>(arrays, scalars);
  }
}

template <class Simd, Element kGradient, Element kParameter>
void adam_narrow(const AdamArrays& arrays, const AdamScalars& scalars) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(arrays.parameter) % kCacheLineBytes == 0;
  if (aligned && arrays.n >= kStreamFromElements) {
    adam_scaled<Simd, kGradient, kParameter, Output::kStream>(arrays, scalars);
  } else {
    adam_scaled<Simd, kGradient, kParameter, Output::kStore>(arrays, scalars);
  }
}

template <class Simd, Element kGradient>
void adam_typed(const AdamArrays& arrays, const AdamScalars& scalars) {
  if (arrays.parameter == nullptr) {
    adam_scaled<Simd, kGradient, Element::kFloat32, Output::kNone>(arrays, scalars);
    return;
  }
  switch (arrays.parameter_type) {
    case Element::kFloat32:
      adam_scaled<Simd, kGradient, Element::kFloat32, Output::kStore>(arrays, scalars);
      return;
    case Element::kBFloat16:
      adam_narrow<Simd, kGradient, Element::kBFloat16>(arrays, scalars);
      return;
    case Element::kFloat16:
      adam_narrow<Simd, kGradient, Element::kFloat16>(arrays, scalars);
      return;
  }
}

template <class Simd>
void adam(const AdamArrays& arrays, const AdamScalars& scalars) {
  const DefaultFloatState state;
  switch (arrays.gradient_type) {
    case Element::kFloat32:
      adam_typed<Simd, Element::kFloat32>(arrays, scalars);
      return;
    case Element::kBFloat16:
      adam_typed<Simd, Element::kBFloat16>(arrays, scalars);
      return;
    case Element::kFloat16:
      adam_typed<Simd, Element::kFloat16>(arrays, scalars);
      return;
  }
}

// --- Gradient norm
// --------------------------------------------------------------------------------------------

template <class Simd, Element kType>
void add_squares(float* lanes,
                 const Stored<kType>* gradient,
                 std::size_t n,
                 typename Simd::Float divisor,
                 bool divides) {
  const auto step = [&](float* lane, const Stored<kType>* from) {
    auto g = load_as<Simd, kType>(from);
    if (divides) g = Simd::divide(g, divisor);
    Simd::store(lane, Simd::fused(g, g, Simd::load(lane)));
  };
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(gradient + i + kPrefetchElements);
    step(lanes + i % kNormLanes, gradient + i);
  }
  if (i < n) {
    Stored<kType> padded[Simd::kWidth] = {};
    std::memcpy(padded, gradient + i, (n - i) * sizeof(padded[0]));
    step(lanes + i % kNormLanes, padded);
  }
}

template <class Simd>
float sum_squares_block(const void* gradient, Element type, std::size_t n, float divisor) {
  const DefaultFloatState state;
  alignas(kCacheLineBytes) float lanes[kNormLanes] = {};
  const auto by = Simd::broadcast(divisor);
  const bool divides = divisor != 1.0F;
  switch (type) {
    case Element::kFloat32:
      add_squares<Simd, Element::kFloat32>(
          lanes, static_cast<const float*>(gradient), n, by, divides);
      break;
    case Element::kBFloat16:
      add_squares<Simd, Element::kBFloat16>(
          lanes, static_cast<const std::uint16_t*>(gradient), n, by, divides);
      break;
    case Element::kFloat16:
      add_squares<Simd, Element::kFloat16>(
          lanes, static_cast<const std::uint16_t*>(gradient), n, by, divides);
      break;
  }
  std::size_t half = kNormLanes / 2;
  for (; half >= Simd::kWidth; half /= 2) {
    for (std::size_t l = 0; l < half; l += Simd::kWidth) {
      Simd::store(lanes + l, Simd::add(Simd::load(lanes + l), Simd::load(lanes + l + half)));
    }
  }
  for (; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// --- Conversions
// ----------------------------------------------------------------------------------------------

template <class Simd, Element kType>
void accumulate_typed(float* sum, const Stored<kType>* from, std::size_t n, Accumulate how) {
  const bool adds = how == Accumulate::kAdd;
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(from + i + kPrefetchElements);
    if (adds) Simd::prefetch(sum + i + kPrefetchElements);
    const auto value = load_as<Simd, kType>(from + i);
    Simd::store(sum + i, adds ? Simd::add(Simd::load(sum + i), value) : value);
  }
  if (i < n) {
    float sums[Simd::kWidth] = {};
    Stored<kType> padded[Simd::kWidth] = {};
    std::memcpy(padded, from + i, (n - i) * sizeof(padded[0]));
    if (adds) std::memcpy(sums, sum + i, (n - i) * sizeof(float));
    const auto value = load_as<Simd, kType>(padded);
    Simd::store(sums, adds ? Simd::add(Simd::load(sums), value) : value);
    std::memcpy(sum + i, sums, (n - i) * sizeof(float));
  }
}

template <class Simd>
void accumulate(float* sum, const void* gradient, Element type, std::size_t n, Accumulate how) {
  const DefaultFloatState state;
  switch (type) {
    case Element::kFloat32:
      accumulate_typed<Simd, Element::kFloat32>(sum, static_cast<const float*>(gradient), n, how);
      return;
    case Element::kBFloat16:
      accumulate_typed<Simd, Element::kBFloat16>(
          sum, static_cast<const std::uint16_t*>(gradient), n, how);
      return;
    case Element::kFloat16:
      accumulate_typed<Simd, Element::kFloat16>(
          sum, static_cast<const std::uint16_t*>(gradient), n, how);
      return;
  }
}

template <class Simd, Element kType>
void convert_typed(Stored<kType>* out, const float* in, std::size_t n) {
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(in + i + kPrefetchElements);
    store_as<Simd, kType, false>(out + i, Simd::load(in + i));
  }
  if (i < n) {
    float padded[Simd::kWidth] = {};
    Stored<kType> converted[Simd::kWidth] = {};
    std::memcpy(padded, in + i, (n - i) * sizeof(float));
    store_as<Simd, kType, false>(converted, Simd::load(padded));
    std::memcpy(out + i, converted, (n - i) * sizeof(converted[0]));
  }
}

template <class Simd>
void convert(void* out, Element type, const float* in, std::size_t n) {
  const DefaultFloatState state;
  switch (type) {
    case Element::kFloat32:
      if (n > 0) std::memmove(out, in, n * sizeof(float));
      return;
    case Element::kBFloat16:
      convert_typed<Simd, Element::kBFloat16>(static_cast<std::uint16_t*>(out), in, n);
      return;
    case Element::kFloat16:
      convert_typed<Simd, Element::kFloat16>(static_cast<std::uint16_t*>(out), in, n);
      return;
  }
}

template <class Simd>
constexpr KernelTable make_table() {
  return {&adam<Simd>, &sum_squares_block<Simd>, &accumulate<Simd>, &convert<Simd>};
}

}  // namespace elixir::kernels::body
