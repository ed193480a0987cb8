// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What label smoothing adds to one row of a softmax cross entropy (cross_entropy_body.h), written
// once over Simd.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cross_entropy_body.h"

namespace elixir::kernels::body {

/// The weights of `count` classes from `at` on, padded with zeros; 1 without weights.
template <class Simd>
typename Simd::Float weights_at(const float* weights, std::size_t at, std::size_t count) {
  if (weights == nullptr) return Simd::broadcast(1.0F);
  if (count == Simd::kWidth) return Simd::load(weights + at);
  float padded[Simd::kWidth] = {};
  std::memcpy(padded, weights + at, count * sizeof(padded[0]));
  return Simd::load(padded);
}

/// Calls work(logits) with the type that the logits are stored as.
template <class Work>
auto with_stored_type(void* logits, Element type, Work work) {
  switch (type) {
    case Element::kFloat32:
      return work.template operator()<Element::kFloat32>(static_cast<float*>(logits));
    case Element::kBFloat16:
      return work.template operator()<Element::kBFloat16>(static_cast<std::uint16_t*>(logits));
    case Element::kFloat16:
      break;
  }
  return work.template operator()<Element::kFloat16>(static_cast<std::uint16_t*>(logits));
}

// All terms have one sign where weights do, so nothing cancels.
template <class Simd, Element kType>
float sum_below_typed(const Stored<kType>* logits,
                      std::size_t n,
                      float largest,
                      const float* weights) {
  const auto top = Simd::broadcast(largest), minus_one = Simd::broadcast(-1.0F);
  return sum_in_lanes<Simd, kType>(
      logits, n, [&](typename Simd::Float x, std::size_t at, std::size_t count) {
        const auto below = Simd::fused(x, minus_one, top);
        if (weights == nullptr) return below;
        return Simd::multiply(below, weights_at<Simd>(weights, at, count));
      });
}

template <class Simd>
float sum_below(
    const void* logits, Element type, std::size_t n, float largest, const float* weights) {
  const DefaultFloatState state;
  return with_stored_type(
      const_cast<void*>(logits), type, [&]<Element kType>(const Stored<kType>* typed) {
        return sum_below_typed<Simd, kType>(typed, n, largest, weights);
      });
}

template <class Simd, Element kType>
void smoothed_gradient_typed(Stored<kType>* logits,
                             std::size_t n,
                             std::size_t target,
                             float largest,
                             float log_sum,
                             const SmoothedGradient& gradient,
                             const float* weights) {
  const auto down = Simd::broadcast(-largest), shift = Simd::broadcast(-log_sum);
  const auto of_probability = Simd::broadcast(gradient.of_probability);
  const auto of_class = Simd::broadcast(-gradient.of_class);
  const auto value = [&](typename Simd::Float x, typename Simd::Float less) {
    const auto p = exponential<Simd>(Simd::add(Simd::add(x, down), shift));
    return Simd::fused(of_probability, p, less);
  };
  // The target's own. Every lane of the vector holds its logit.
  Stored<kType> copies[Simd::kWidth];
  for (auto& copy : copies) copy = logits[target];
  const float weight = weights == nullptr ? 1.0F : weights[target];
  const auto less =
      Simd::fused(of_class, Simd::broadcast(weight), Simd::broadcast(-gradient.of_target));
  const auto of_target = value(load_as<Simd, kType>(copies), less);
  replace_each<Simd, kType>(
      logits, n, [&](typename Simd::Float x, std::size_t at, std::size_t count) {
        return value(x, Simd::multiply(of_class, weights_at<Simd>(weights, at, count)));
      });
  store_as<Simd, kType>(copies, of_target);
  logits[target] = copies[0];
}

template <class Simd>
void smoothed_gradient(void* logits,
                       Element type,
                       std::size_t n,
                       std::size_t target,
                       float largest,
                       float log_sum,
                       const SmoothedGradient& gradient,
                       const float* weights) {
  const DefaultFloatState state;
  with_stored_type(logits, type, [&]<Element kType>(Stored<kType>* typed) {
    smoothed_gradient_typed<Simd, kType>(typed, n, target, largest, log_sum, gradient, weights);
  });
}

}  // namespace elixir::kernels::body
