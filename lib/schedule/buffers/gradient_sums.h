// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Sums of squares for the global norm of the gradients: one for each block of a parameter, in the
// order of Program::parameters. The arithmetic is fixed (kernels/gradient.h), so that the norm does
// not depend on chunks or on where a sum is made.

#include <cstdint>

#include "program/program.h"

namespace elixir::schedule {

inline constexpr std::int64_t kSumBlockElements = 65'536;

/// The number of sums of a gradient with `elements` elements.
[[nodiscard]] constexpr std::int64_t gradient_sums(std::int64_t elements) {
  return (elements + kSumBlockElements - 1) / kSumBlockElements;
}

/// Room after the sums for norm and clip factor.
inline constexpr std::int64_t kClipBytes = 16;

/// The size of the buffer of role kGradientSums.
[[nodiscard]] std::int64_t gradient_sums_bytes(const program::Program& program);

}  // namespace elixir::schedule
