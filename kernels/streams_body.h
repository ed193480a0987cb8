// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The loads, stores and prefetches of adam_body.h without arithmetic. Simd::opaque() hides from the
// compiler that the stored value is the loaded one.

#include <cstddef>
#include <cstdint>

#include "kernels/adam_body.h"

namespace elixir::kernels::body {

/// Loads `bytes` (a multiple of Simd::kRawBytes) from `from` and stores them to `to`.
template <class Simd>
[[gnu::always_inline]] inline void move_block(void* to, const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += Simd::kRawBytes) {
    Simd::store_raw(static_cast<char*>(to) + i,
                    Simd::opaque(Simd::load_raw(static_cast<const char*>(from) + i)));
  }
}

template <class Simd, Element kGradient, Form kForm, Element kMoment>
[[gnu::always_inline]] inline void streams_block(
    const TypedArrays<kGradient, kForm, kMoment>& arrays, std::size_t at, bool streams) {
  constexpr std::size_t kNarrowBytes = kBlockElements * sizeof(std::uint16_t);
  move_block<Simd>(
      arrays.moment1 + at, arrays.moment1 + at, kBlockElements * sizeof(Stored<kMoment>));
  move_block<Simd>(
      arrays.moment2 + at, arrays.moment2 + at, kBlockElements * sizeof(Stored<kMoment>));
  if constexpr (kForm == Form::kSplit) {
    move_block<Simd>(arrays.parameter + at, arrays.parameter + at, kNarrowBytes);
    move_block<Simd>(arrays.lower + at, arrays.lower + at, kNarrowBytes);
  } else {
    move_block<Simd>(arrays.master + at, arrays.master + at, kBlockElements * sizeof(float));
  }
  constexpr std::size_t kGradientBytes = kBlockElements * sizeof(Stored<kGradient>);
  const auto* gradient = reinterpret_cast<const char*>(arrays.gradient + at);
  if constexpr (kForm == Form::kBFloat16) {
    auto* parameter = reinterpret_cast<char*>(arrays.parameter + at);
    for (std::size_t i = 0; i < kGradientBytes; i += Simd::kRawBytes) {
      const auto raw = Simd::opaque(Simd::load_raw(gradient + i));
      if (streams) {
        Simd::stream_raw(parameter + i, raw);
      } else {
        Simd::store_raw(parameter + i, raw);
      }
    }
  } else {
    for (std::size_t i = 0; i < kGradientBytes; i += Simd::kRawBytes) {
      static_cast<void>(Simd::opaque(Simd::load_raw(gradient + i)));
    }
  }
}

template <class Simd, Element kGradient, Form kForm, Element kMoment>
void streams_range(const AdamArrays& in) {
  const TypedArrays<kGradient, kForm, kMoment> arrays = {
      in.master,
      static_cast<Stored<kMoment>*>(in.moment1),
      static_cast<Stored<kMoment>*>(in.moment2),
      static_cast<const Stored<kGradient>*>(in.gradient),
      static_cast<Stored<kParameterType<kForm>>*>(in.parameter),
      in.lower,
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(in.parameter) % kCacheLineBytes == 0;
  const bool streams = aligned && in.n >= kStreamFromElements;
  std::size_t i = 0;
  for (; i + kBlockElements <= in.n; i += kBlockElements) {
    prefetch_block<Simd>(arrays, i + kPrefetchElements, AdamPass::kWhole);
    streams_block<Simd>(arrays, i, streams);
  }
  if constexpr (kForm == Form::kBFloat16) {  // fewer elements than a block, too few to measure
    for (; i < in.n; ++i) arrays.parameter[i] = arrays.gradient[i];
  }
  if (streams) Simd::fence();
}

template <class Simd, Element kMoment>
void streams_formed(const AdamArrays& arrays) {
  if (arrays.lower != nullptr) {
    streams_range<Simd, Element::kBFloat16, Form::kSplit, kMoment>(arrays);
  } else if (arrays.parameter != nullptr) {
    streams_range<Simd, Element::kBFloat16, Form::kBFloat16, kMoment>(arrays);
  } else {
    streams_range<Simd, Element::kFloat32, Form::kMasterOnly, kMoment>(arrays);
  }
}

template <class Simd>
void adam_streams(const AdamArrays& arrays) {
  if (arrays.moment_type == Element::kBFloat16) {
    streams_formed<Simd, Element::kBFloat16>(arrays);
  } else {
    streams_formed<Simd, Element::kFloat32>(arrays);
  }
}

}  // namespace elixir::kernels::body
