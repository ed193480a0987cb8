// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Accumulation and conversions on the CPU, written once over Simd (kernel_body.h).

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/gradient.h"
#include "kernels/simd_element.h"

namespace elixir::kernels::body {

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
    store_as<Simd, kType>(out + i, Simd::load(in + i));
  }
  if (i < n) {
    float padded[Simd::kWidth] = {};
    Stored<kType> converted[Simd::kWidth] = {};
    std::memcpy(padded, in + i, (n - i) * sizeof(float));
    store_as<Simd, kType>(converted, Simd::load(padded));
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
void split(const float* master, std::uint16_t* upper, std::int16_t* lower, std::size_t n) {
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(master + i + kPrefetchElements);
    const auto value = Simd::load(master + i);
    Simd::store_bfloat16(upper + i, value);
    Simd::store_lower(lower + i, value);
  }
  if (i < n) {
    float padded[Simd::kWidth] = {};
    std::uint16_t uppers[Simd::kWidth] = {};
    std::int16_t lowers[Simd::kWidth] = {};
    std::memcpy(padded, master + i, (n - i) * sizeof(float));
    const auto value = Simd::load(padded);
    Simd::store_bfloat16(uppers, value);
    Simd::store_lower(lowers, value);
    std::memcpy(upper + i, uppers, (n - i) * sizeof(uppers[0]));
    std::memcpy(lower + i, lowers, (n - i) * sizeof(lowers[0]));
  }
}

template <class Simd>
void join(const std::uint16_t* upper, const std::int16_t* lower, float* master, std::size_t n) {
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(upper + i + kPrefetchElements);
    Simd::prefetch(lower + i + kPrefetchElements);
    Simd::store(master + i, Simd::join(upper + i, lower + i));
  }
  if (i < n) {
    float joined[Simd::kWidth] = {};
    std::uint16_t uppers[Simd::kWidth] = {};
    std::int16_t lowers[Simd::kWidth] = {};
    std::memcpy(uppers, upper + i, (n - i) * sizeof(uppers[0]));
    std::memcpy(lowers, lower + i, (n - i) * sizeof(lowers[0]));
    Simd::store(joined, Simd::join(uppers, lowers));
    std::memcpy(master + i, joined, (n - i) * sizeof(float));
  }
}

}  // namespace elixir::kernels::body
