// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// AdamW on the CPU, written once over Simd (kernel_body.h). It works in blocks of 32 elements. A
// shorter rest goes through a padded copy and the same instructions. Conditions that differ
// between passes but not between elements (division, streaming) are branches, not template
// instances.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "kernels/adam.h"
#include "kernels/adam_form.h"
#include "kernels/simd_element.h"

namespace elixir::kernels::body {

/// From this size on, written parameters would leave the caches before they are read again, so
/// stores bypass the caches.
inline constexpr std::size_t kStreamFromElements = std::size_t{1} << 20;

template <Element kGradient, Form kForm, Element kMoment>
struct TypedArrays {
  float* master;
  Stored<kMoment>* moment1;
  Stored<kMoment>* moment2;
  const Stored<kGradient>* gradient;
  Stored<kParameterType<kForm>>* parameter;
  std::int16_t* lower;
  const Stored<kGradient>* earlier = nullptr;  ///< gradient; nullptr: there is none
};

/// How gradients of a step are scaled.
template <class Simd>
struct GradientScale {
  typename Simd::Float divisor, inverse_divisor, clip;
  Scale scale;
};

template <class Simd>
GradientScale<Simd> make_scale(float divisor, float clip) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &divisor, sizeof bits);
  const std::uint32_t exponent = bits >> 23;  // includes the sign, so that negative ones divide
  const bool power_of_two = (bits & 0x007FFFFFU) == 0 && exponent >= 1 && exponent <= 253;
  const bool scales = divisor != 1.0F || clip != 1.0F;
  return {Simd::broadcast(divisor),
          Simd::broadcast(1.0F / divisor),
          Simd::broadcast(clip),
          !scales        ? Scale::kNone
          : power_of_two ? Scale::kMultiply
                         : Scale::kDivide};
}

template <class Simd>
[[gnu::always_inline]] inline typename Simd::Float scaled(typename Simd::Float gradient,
                                                          const GradientScale<Simd>& by) {
  if (by.scale == Scale::kMultiply) {
    return Simd::multiply(Simd::multiply(gradient, by.inverse_divisor), by.clip);
  }
  if (by.scale == Scale::kDivide) {
    return Simd::multiply(Simd::divide(gradient, by.divisor), by.clip);
  }
  return gradient;
}

template <class Simd>
struct AdamConstants {
  typename Simd::Float beta1, one_minus_beta1, beta2, one_minus_beta2, inverse_sqrt_bias2, eps;
  typename Simd::Float decay, negative_step, zero;
  GradientScale<Simd> gradient, earlier;
  bool streams;
  AdamPass pass;
};

template <class Simd>
AdamConstants<Simd> make_constants(const AdamScalars& s,
                                   bool streams,
                                   AdamPass pass,
                                   const EarlierGradient& earlier) {
  return {
      Simd::broadcast(s.beta1),
      Simd::broadcast(s.one_minus_beta1),
      Simd::broadcast(s.beta2),
      Simd::broadcast(s.one_minus_beta2),
      Simd::broadcast(s.inverse_sqrt_bias2),
      Simd::broadcast(s.eps),
      Simd::broadcast(s.decay),
      Simd::broadcast(s.negative_step),
      Simd::broadcast(0.0F),
      make_scale<Simd>(s.divisor, s.clip),
      make_scale<Simd>(earlier.divisor, earlier.clip),
      streams,
      pass,
  };
}

/// The value that is read after a store as `kType`.
template <class Simd, Element kType>
[[gnu::always_inline]] inline typename Simd::Float as_stored(typename Simd::Float value) {
  if constexpr (kType == Element::kFloat32) {
    return value;
  } else {
    Stored<kType> stored[Simd::kWidth];
    store_as<Simd, kType>(stored, value);
    return load_as<Simd, kType>(stored);
  }
}

/// One block, starting at element `at`. `suspect` becomes NaN in every lane whose parameter or
/// second moment is not finite once it is stored. A gradient that is not finite makes the parameter
/// not finite, and so does an infinite first moment. An infinite second moment does not: its
/// parameter only stops moving. A pass over moments alone leaves `suspect` as it is, because the
/// pass over parameters has looked.
template <class Simd, Element kGradient, Form kForm, Element kMoment>
[[gnu::always_inline]] inline void adam_block(const TypedArrays<kGradient, kForm, kMoment>& arrays,
                                              std::size_t at,
                                              const AdamConstants<Simd>& c,
                                              typename Simd::Float& suspect) {
  for (std::size_t i = at; i < at + kBlockElements; i += Simd::kWidth) {
    auto m = load_as<Simd, kMoment>(arrays.moment1 + i);
    auto v = load_as<Simd, kMoment>(arrays.moment2 + i);
    const auto take_in = [&](typename Simd::Float g) {
      m = Simd::fused(c.beta1, m, Simd::multiply(c.one_minus_beta1, g));
      v = Simd::fused(c.beta2, v, Simd::multiply(Simd::multiply(c.one_minus_beta2, g), g));
    };
    if (arrays.earlier != nullptr) {
      take_in(scaled<Simd>(load_as<Simd, kGradient>(arrays.earlier + i), c.earlier));
      m = as_stored<Simd, kMoment>(m);
      v = as_stored<Simd, kMoment>(v);
    }
    take_in(scaled<Simd>(load_as<Simd, kGradient>(arrays.gradient + i), c.gradient));
    if (c.pass != AdamPass::kParameters) {
      store_as<Simd, kMoment>(arrays.moment1 + i, m);
      store_as<Simd, kMoment>(arrays.moment2 + i, v);
    }
    if (c.pass == AdamPass::kMoments) continue;
    const auto d = Simd::fused(Simd::square_root(v), c.inverse_sqrt_bias2, c.eps);
    typename Simd::Float p;
    if constexpr (kForm == Form::kSplit) {
      p = Simd::join(arrays.parameter + i, arrays.lower + i);
    } else {
      p = Simd::load(arrays.master + i);
    }
    p = Simd::fused(c.negative_step, Simd::divide(m, d), Simd::multiply(p, c.decay));
    // 0 * x is NaN if x is not finite, else 0.
    suspect = Simd::add(suspect, Simd::multiply(as_stored<Simd, kParameterType<kForm>>(p), c.zero));
    suspect = Simd::add(suspect, Simd::multiply(as_stored<Simd, kMoment>(v), c.zero));
    if constexpr (kForm == Form::kSplit) {
      Simd::store_bfloat16(arrays.parameter + i, p);
      Simd::store_lower(arrays.lower + i, p);
    } else {
      Simd::store(arrays.master + i, p);
    }
    if constexpr (kForm == Form::kFloat32) Simd::store(arrays.parameter + i, p);
    if constexpr (kForm == Form::kBFloat16 || kForm == Form::kFloat16) {
      if (c.streams) {
        stream_as<Simd, kParameterType<kForm>>(arrays.parameter + i, p);
      } else {
        store_as<Simd, kParameterType<kForm>>(arrays.parameter + i, p);
      }
    }
  }
}

template <class Simd, Element kGradient, Form kForm, Element kMoment>
[[gnu::always_inline]] inline void prefetch_block(
    const TypedArrays<kGradient, kForm, kMoment>& arrays, std::size_t at, AdamPass pass) {
  prefetch_elements<Simd>(arrays.moment1 + at, kBlockElements);
  prefetch_elements<Simd>(arrays.moment2 + at, kBlockElements);
  prefetch_elements<Simd>(arrays.gradient + at, kBlockElements);
  if (arrays.earlier != nullptr) prefetch_elements<Simd>(arrays.earlier + at, kBlockElements);
  if (pass == AdamPass::kMoments) return;
  if constexpr (kForm == Form::kSplit) {
    prefetch_elements<Simd>(arrays.parameter + at, kBlockElements);
    prefetch_elements<Simd>(arrays.lower + at, kBlockElements);
  } else {
    prefetch_elements<Simd>(arrays.master + at, kBlockElements);
  }
}

/// The last n < kBlockElements elements, starting at `at`.
template <class Simd, Element kGradient, Form kForm, Element kMoment>
void adam_rest(const TypedArrays<kGradient, kForm, kMoment>& arrays,
               std::size_t at,
               std::size_t n,
               AdamConstants<Simd> c,
               typename Simd::Float& suspect) {
  float master[kBlockElements] = {};
  Stored<kMoment> moment1[kBlockElements] = {}, moment2[kBlockElements] = {};
  Stored<kGradient> gradient[kBlockElements] = {}, earlier[kBlockElements] = {};
  Stored<kParameterType<kForm>> parameter[kBlockElements] = {};
  std::int16_t lower[kBlockElements] = {};
  // With an epsilon of 0, padding of zeros would be 0 / 0.
  std::fill(std::begin(moment2), std::end(moment2), kStoredOne<kMoment>);
  std::memcpy(moment1, arrays.moment1 + at, n * sizeof(moment1[0]));
  std::memcpy(moment2, arrays.moment2 + at, n * sizeof(moment2[0]));
  std::memcpy(gradient, arrays.gradient + at, n * sizeof(gradient[0]));
  if (arrays.earlier != nullptr) {
    std::memcpy(earlier, arrays.earlier + at, n * sizeof(earlier[0]));
  }
  if constexpr (kForm == Form::kSplit) {
    std::memcpy(parameter, arrays.parameter + at, n * sizeof(parameter[0]));
    std::memcpy(lower, arrays.lower + at, n * sizeof(lower[0]));
  } else {
    std::memcpy(master, arrays.master + at, n * sizeof(master[0]));
  }
  c.streams = false;
  adam_block<Simd>(
      TypedArrays<kGradient, kForm, kMoment>{master,
                                             moment1,
                                             moment2,
                                             gradient,
                                             parameter,
                                             lower,
                                             arrays.earlier != nullptr ? earlier : nullptr},
      0,
      c,
      suspect);
  if (c.pass != AdamPass::kParameters) {
    std::memcpy(arrays.moment1 + at, moment1, n * sizeof(moment1[0]));
    std::memcpy(arrays.moment2 + at, moment2, n * sizeof(moment2[0]));
  }
  if (c.pass == AdamPass::kMoments) return;
  if constexpr (kForm == Form::kSplit) {
    std::memcpy(arrays.lower + at, lower, n * sizeof(lower[0]));
  } else {
    std::memcpy(arrays.master + at, master, n * sizeof(master[0]));
  }
  if constexpr (kForm != Form::kMasterOnly) {
    std::memcpy(arrays.parameter + at, parameter, n * sizeof(parameter[0]));
  }
}

template <class Simd>
bool any_nan(typename Simd::Float values) {
  float lanes[Simd::kWidth];
  Simd::store(lanes, values);
  bool found = false;
  for (const float lane : lanes) found = found || lane != lane;
  return found;
}

template <class Simd, Element kGradient, Form kForm, Element kMoment>
void adam_range(const AdamArrays& in, const AdamScalars& scalars, std::uint32_t* report) {
  const TypedArrays<kGradient, kForm, kMoment> arrays = {
      in.master,
      static_cast<Stored<kMoment>*>(in.moment1),
      static_cast<Stored<kMoment>*>(in.moment2),
      static_cast<const Stored<kGradient>*>(in.gradient),
      static_cast<Stored<kParameterType<kForm>>*>(in.parameter),
      in.lower,
      static_cast<const Stored<kGradient>*>(in.earlier.values),
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(in.parameter) % kCacheLineBytes == 0;
  const AdamConstants<Simd> c =
      make_constants<Simd>(scalars, aligned && in.n >= kStreamFromElements, in.pass, in.earlier);
  auto suspect = c.zero;
  std::size_t i = 0;
  for (; i + kBlockElements <= in.n; i += kBlockElements) {
    prefetch_block<Simd>(arrays, i + kPrefetchElements, c.pass);
    adam_block<Simd>(arrays, i, c, suspect);
  }
  if (i < in.n) adam_rest<Simd>(arrays, i, in.n - i, c, suspect);
  if (c.streams) Simd::fence();
  if (report != nullptr && any_nan<Simd>(suspect)) __atomic_store_n(report, 1U, __ATOMIC_RELAXED);
}

template <class Simd, Element kGradient, Element kMoment>
void adam_formed(const AdamArrays& arrays, const AdamScalars& scalars, std::uint32_t* report) {
  if (arrays.lower != nullptr) {
    adam_range<Simd, kGradient, Form::kSplit, kMoment>(arrays, scalars, report);
    return;
  }
  if (arrays.parameter == nullptr) {
    adam_range<Simd, kGradient, Form::kMasterOnly, kMoment>(arrays, scalars, report);
    return;
  }
  switch (arrays.parameter_type) {
    case Element::kFloat32:
      adam_range<Simd, kGradient, Form::kFloat32, kMoment>(arrays, scalars, report);
      return;
    case Element::kBFloat16:
      adam_range<Simd, kGradient, Form::kBFloat16, kMoment>(arrays, scalars, report);
      return;
    case Element::kFloat16:
      adam_range<Simd, kGradient, Form::kFloat16, kMoment>(arrays, scalars, report);
      return;
  }
}

template <class Simd, Element kGradient>
void adam_typed(const AdamArrays& arrays, const AdamScalars& scalars, std::uint32_t* report) {
  if (arrays.moment_type == Element::kBFloat16) {
    adam_formed<Simd, kGradient, Element::kBFloat16>(arrays, scalars, report);
  } else {
    adam_formed<Simd, kGradient, Element::kFloat32>(arrays, scalars, report);
  }
}

template <class Simd>
void adam(const AdamArrays& arrays, const AdamScalars& scalars, std::uint32_t* report) {
  const DefaultFloatState state;
  switch (arrays.gradient_type) {
    case Element::kFloat32:
      adam_typed<Simd, Element::kFloat32>(arrays, scalars, report);
      return;
    case Element::kBFloat16:
      adam_typed<Simd, Element::kBFloat16>(arrays, scalars, report);
      return;
    case Element::kFloat16:
      adam_typed<Simd, Element::kFloat16>(arrays, scalars, report);
      return;
  }
}

}  // namespace elixir::kernels::body
