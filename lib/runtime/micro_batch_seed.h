// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The seed of LibTorch's generator at the start of each micro-batch. It is part of the project's
// arithmetic: to get the numbers of a run in another framework, seed its generator with the same
// value.
//
//   mix(z):  z += 0x9E3779B97F4A7C15
//            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9
//            z = (z ^ z >> 27) * 0x94D049BB133111EB
//            z ^ z >> 31                                  (SplitMix64, arithmetic modulo 2^64)
//   seed  =  mix(mix(mix(seed) ^ step) ^ micro_batch)
//
// Steps count from 1, micro-batches from 0.

#include <cstdint>

namespace elixir::runtime {

[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

[[nodiscard]] constexpr std::uint64_t micro_batch_seed(std::uint64_t seed,
                                                       std::int64_t step,
                                                       std::int64_t micro_batch) {
  return mix64(mix64(mix64(seed) ^ static_cast<std::uint64_t>(step)) ^
               static_cast<std::uint64_t>(micro_batch));
}

}  // namespace elixir::runtime
