// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// One row of a softmax cross entropy on the CPU, written once over Simd (kernel_body.h). Logits are
// read in their own dtype; all arithmetic is fp32. The exponential is that of Cephes' expf (about
// one unit in the last place). It, and every fused operation, are part of the specification.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cross_entropy.h"
#include "kernels/simd_element.h"

namespace elixir::kernels::body {

inline constexpr std::size_t kSoftmaxLanes = 1024;

/// e^x for x of at most about 0; e^-87 for anything less, and a NaN for a NaN.
template <class Simd>
typename Simd::Float exponential(typename Simd::Float x) {
  using Float = typename Simd::Float;
  constexpr float kRounds = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  x = Simd::larger(Simd::broadcast(-87.0F), x);
  const Float shifted =
      Simd::fused(x, Simd::broadcast(1.44269504088896341F), Simd::broadcast(kRounds));
  const Float n = Simd::add(shifted, Simd::broadcast(-kRounds));
  Float r = Simd::fused(n, Simd::broadcast(-0.693359375F), x);  // ln 2 in two parts
  r = Simd::fused(n, Simd::broadcast(2.12194440E-4F), r);
  Float y = Simd::broadcast(1.9875691500E-4F);
  y = Simd::fused(y, r, Simd::broadcast(1.3981999507E-3F));
  y = Simd::fused(y, r, Simd::broadcast(8.3334519073E-3F));
  y = Simd::fused(y, r, Simd::broadcast(4.1665795894E-2F));
  y = Simd::fused(y, r, Simd::broadcast(1.6666665459E-1F));
  y = Simd::fused(y, r, Simd::broadcast(5.0000001201E-1F));
  y = Simd::fused(Simd::multiply(y, r), r, Simd::add(r, Simd::broadcast(1.0F)));
  // The low bits of `shifted` are those of n.
  const auto power = Simd::template shift_left<23>(
      Simd::add_int(Simd::bits_of(shifted), Simd::broadcast_int(127)));
  return Simd::multiply(y, Simd::float_of(power));
}

/// Calls visit(vector, position, count) for all logits of a row. A last short vector is padded with
/// zeros; `count` says how many are real.
template <class Simd, Element kType, class Visit>
void for_each_vector(const Stored<kType>* logits, std::size_t n, Visit visit) {
  std::size_t i = 0;
  for (; i + Simd::kWidth <= n; i += Simd::kWidth) {
    Simd::prefetch(logits + i + kPrefetchElements);
    visit(load_as<Simd, kType>(logits + i), i, std::size_t{Simd::kWidth});
  }
  if (i < n) {
    Stored<kType> padded[Simd::kWidth] = {};
    std::memcpy(padded, logits + i, (n - i) * sizeof(padded[0]));
    visit(load_as<Simd, kType>(padded), i, n - i);
  }
}

/// The sum of term(vector, position, count) over a row: in lanes by position, then in a tree, so
/// that it does not depend on the width of vectors.
template <class Simd, Element kType, class Term>
float sum_in_lanes(const Stored<kType>* logits, std::size_t n, Term term) {
  alignas(kCacheLineBytes) float lanes[kSoftmaxLanes] = {};
  for_each_vector<Simd, kType>(
      logits, n, [&](typename Simd::Float x, std::size_t at, std::size_t count) {
        float* lane = lanes + at % kSoftmaxLanes;
        const auto value = term(x, at, count);
        if (count == Simd::kWidth) {
          Simd::store(lane, Simd::add(Simd::load(lane), value));
          return;
        }
        float vector[Simd::kWidth];
        Simd::store(vector, value);
        for (std::size_t l = 0; l < count; ++l) lane[l] += vector[l];
      });
  for (std::size_t half = kSoftmaxLanes / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

template <class Simd, Element kType>
SoftmaxSum softmax_sum_typed(const Stored<kType>* logits, std::size_t n) {
  float vector[Simd::kWidth];
  const auto lowest = Simd::broadcast(-__builtin_inff());
  auto largest = lowest;
  float largest_of_rest = -__builtin_inff();
  for_each_vector<Simd, kType>(
      logits, n, [&](typename Simd::Float x, std::size_t, std::size_t count) {
        if (count == Simd::kWidth) {
          largest = Simd::larger(largest, x);
          return;
        }
        Simd::store(vector, x);
        for (std::size_t l = 0; l < count; ++l) {
          if (vector[l] > largest_of_rest) largest_of_rest = vector[l];
        }
      });
  SoftmaxSum result{largest_of_rest, 0.0F};
  Simd::store(vector, largest);
  for (const float each : vector) {
    if (each > result.largest) result.largest = each;
  }
  const auto shift = Simd::broadcast(-result.largest);
  result.sum =
      sum_in_lanes<Simd, kType>(logits, n, [&](typename Simd::Float x, std::size_t, std::size_t) {
        return exponential<Simd>(Simd::add(x, shift));
      });
  return result;
}

template <class Simd>
SoftmaxSum softmax_sum(const void* logits, Element type, std::size_t n) {
  const DefaultFloatState state;
  switch (type) {
    case Element::kFloat32:
      return softmax_sum_typed<Simd, Element::kFloat32>(static_cast<const float*>(logits), n);
    case Element::kBFloat16:
      return softmax_sum_typed<Simd, Element::kBFloat16>(static_cast<const std::uint16_t*>(logits),
                                                         n);
    case Element::kFloat16:
      break;
  }
  return softmax_sum_typed<Simd, Element::kFloat16>(static_cast<const std::uint16_t*>(logits), n);
}

/// Replaces each logit of a row with replacement(vector, position, count).
template <class Simd, Element kType, class Replacement>
void replace_each(Stored<kType>* logits, std::size_t n, Replacement replacement) {
  for_each_vector<Simd, kType>(
      logits, n, [&](typename Simd::Float x, std::size_t at, std::size_t count) {
        const auto value = replacement(x, at, count);
        if (count == Simd::kWidth) {
          store_as<Simd, kType>(logits + at, value);
          return;
        }
        Stored<kType> padded[Simd::kWidth];
        store_as<Simd, kType>(padded, value);
        std::memcpy(logits + at, padded, count * sizeof(padded[0]));
      });
}

template <class Simd, Element kType>
void softmax_gradient_typed(Stored<kType>* logits,
                            std::size_t n,
                            std::size_t target,
                            float largest,
                            float log_sum,
                            float scale) {
  const auto down = Simd::broadcast(-largest), shift = Simd::broadcast(-log_sum);
  const auto probability = [&](typename Simd::Float x) {
    return exponential<Simd>(Simd::add(Simd::add(x, down), shift));
  };
  const auto factor = Simd::broadcast(scale);
  // The target's own: (p - 1) * scale. Every lane of the vector holds its logit.
  Stored<kType> copies[Simd::kWidth];
  for (auto& copy : copies) copy = logits[target];
  const auto less_one =
      Simd::add(probability(load_as<Simd, kType>(copies)), Simd::broadcast(-1.0F));
  replace_each<Simd, kType>(logits, n, [&](typename Simd::Float x, std::size_t, std::size_t) {
    return Simd::multiply(probability(x), factor);
  });
  store_as<Simd, kType>(copies, Simd::multiply(less_one, factor));
  logits[target] = copies[0];
}

template <class Simd>
void softmax_gradient(void* logits,
                      Element type,
                      std::size_t n,
                      std::size_t target,
                      float largest,
                      float log_sum,
                      float scale) {
  const DefaultFloatState state;
  switch (type) {
    case Element::kFloat32:
      softmax_gradient_typed<Simd, Element::kFloat32>(
          static_cast<float*>(logits), n, target, largest, log_sum, scale);
      return;
    case Element::kBFloat16:
      softmax_gradient_typed<Simd, Element::kBFloat16>(
          static_cast<std::uint16_t*>(logits), n, target, largest, log_sum, scale);
      return;
    case Element::kFloat16:
      break;
  }
  softmax_gradient_typed<Simd, Element::kFloat16>(
      static_cast<std::uint16_t*>(logits), n, target, largest, log_sum, scale);
}

}  // namespace elixir::kernels::body
