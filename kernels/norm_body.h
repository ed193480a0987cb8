// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The sum of squares of a gradient, and its check for finite values, on the CPU, written once over
// Simd (kernel_body.h).

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/simd_element.h"

namespace elixir::kernels::body {

inline constexpr std::size_t kNormLanes = 1024;

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

template <class Simd, Element kType>
bool finite_typed(const Stored<kType>* values, std::size_t n) {
  // 0 * x is NaN if x is not finite, else 0.
  const auto zero = Simd::broadcast(0.0F);
  auto suspect = zero;
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(values + i + kPrefetchElements);
    suspect = Simd::add(suspect, Simd::multiply(load_as<Simd, kType>(values + i), zero));
  }
  if (i < n) {
    Stored<kType> padded[Simd::kWidth] = {};
    std::memcpy(padded, values + i, (n - i) * sizeof(padded[0]));
    suspect = Simd::add(suspect, Simd::multiply(load_as<Simd, kType>(padded), zero));
  }
  float lanes[Simd::kWidth];
  Simd::store(lanes, suspect);
  bool finite = true;
  for (const float lane : lanes) finite = finite && lane == lane;
  return finite;
}

template <class Simd>
bool all_finite(const void* values, Element type, std::size_t n) {
  const DefaultFloatState state;
  switch (type) {
    case Element::kFloat32:
      return finite_typed<Simd, Element::kFloat32>(static_cast<const float*>(values), n);
    case Element::kBFloat16:
      return finite_typed<Simd, Element::kBFloat16>(static_cast<const std::uint16_t*>(values), n);
    case Element::kFloat16:
      break;
  }
  return finite_typed<Simd, Element::kFloat16>(static_cast<const std::uint16_t*>(values), n);
}

}  // namespace elixir::kernels::body
