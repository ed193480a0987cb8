// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Random numbers for weights without data. An element's value depends only on (key, position): the
// bits are the same for every number of threads, instruction set and compiler. For this, each
// operation is either on integers or correctly rounded by IEEE 754 (add, multiply, fused
// multiply-add, square root, conversion), and nothing of libm is called.
//
// Words: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) with
// `key` (low half first) on counters (c, c >> 32, attempt, 0). Element i uses word i % 64 / 16 of
// counter c = i / 64 * 16 + i % 16, so that vectors of any width up to 16 store side by side.
//
// In fp32, with fma where written; first and second are rounded to fp32 once:
//   uniform    fma(second - first, (word >> 8) * 2^-24, first)
//   normal     words 0 and 1 of a counter make two values, 2 and 3 two more (Box-Muller):
//              u = fma(float(word >> 1), 2^-31, 2^-32), radius = sqrt(-2 ln u); the angle is the
//              other word as a fraction of the circle; fma(second, radius * cos, first), then sin.
//              ln, cos and sin are the polynomials of random_body.h.
//   truncated  the first normal value of attempts 0, 1, … that is in [low, high]; after 64 attempts
//              the last value, clamped to the nearer border.
// The result is rounded to the destination's type once, like convert_cpu().

#include <cstddef>
#include <cstdint>

#include "kernels/element.h"
#include "kernels/isa.h"

namespace elixir::kernels {

class ThreadPool;

struct Distribution {
  enum class Kind : std::uint8_t { kConstant, kUniform, kNormal, kTruncatedNormal };
  Kind kind = Kind::kNormal;
  double first = 0.0;            ///< constant: value; uniform: low; normal: mean
  double second = 1.0;           ///< uniform: high; normal: standard deviation
  double low = 0.0, high = 0.0;  ///< of a truncated normal
};

/// Number of elements that share counters. Fills may be split at multiples of it.
inline constexpr std::size_t kRandomBlockElements = 64;
inline constexpr std::uint32_t kMostRandomAttempts = 64;

/// Fills out[0, n) as `what` says.
void fill_random_cpu(void* out,
                     Element type,
                     std::size_t n,
                     const Distribution& what,
                     std::uint64_t key,
                     Isa isa,
                     ThreadPool& pool);

}  // namespace elixir::kernels
