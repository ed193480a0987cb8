// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How much the bit identity tests compare. The default takes a few seconds. The full claim, 10^8
// random parameters over 100 steps, needs ELIXIR_BIT_PARAMETERS=100000000 ELIXIR_BIT_STEPS=100.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "reference.h"

namespace elixir::kernels {

struct BitIdentitySize {
  std::size_t parameters;  ///< over all forms of the pass together
  std::int64_t steps;
};

/// The size from the environment. std::strtoull does not read exponents, so 1e8 is 1.
[[nodiscard]] inline BitIdentitySize bit_identity_size(BitIdentitySize by_default) {
  if (const char* parameters = std::getenv("ELIXIR_BIT_PARAMETERS")) {
    by_default.parameters = std::strtoull(parameters, nullptr, 10);
  }
  if (const char* steps = std::getenv("ELIXIR_BIT_STEPS")) {
    by_default.steps = std::strtoll(steps, nullptr, 10);
  }
  return by_default;
}

inline constexpr reference::Hyper kBitIdentityHyper = {1e-3, 0.9, 0.98, 1e-8, 0.05};
/// Scalars that change with the step. Sometimes the gradient is neither divided nor clipped,
/// sometimes it is divided by a power of two, sometimes by another number.
[[nodiscard]] inline int micro_batches_at(std::int64_t step) {
  return step % 3 == 0 ? 3 : 1;
}
[[nodiscard]] inline double loss_scale_at(std::int64_t step) {
  return step % 4 == 0 ? 1024.0 : 1.0;
}
[[nodiscard]] inline float clip_at(std::int64_t step) {
  return step % 5 == 0 ? 0.6F : 1.0F;
}

}  // namespace elixir::kernels
