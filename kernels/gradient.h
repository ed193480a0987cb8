// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Gradient passes in a fixed order, so that results do not depend on chunks, placement, threads or
// device.
//
// Sum of squares: fp32, over blocks of 65,536 elements counted from the parameter's start. Inside a
// block there are 1,024 lanes. Lane l starts at 0 and adds elements l, l+1024, … in order by s =
// fma(g, g, s), where g is first divided by `divisor`. Then lanes are added pairwise, lane l +=
// lane l+h for h = 512, 256, …, 1. A short block gives the same result as if padded with zeros. The
// global norm adds the block sums of all parameters in program order, in a pairwise tree
// (global_norm).

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/element.h"
#include "kernels/isa.h"

namespace elixir::kernels {

inline constexpr std::size_t kNormBlockElements = 65536;
[[nodiscard]] constexpr std::size_t norm_blocks(std::size_t n) {
  return (n + kNormBlockElements - 1) / kNormBlockElements;
}

class ThreadPool;

/// Writes sums[norm_blocks(n)]. Sets `found_infinity`, if given, to 1 when a gradient is not
/// finite, and never clears it. (The square of a finite gradient may overflow; that does not
/// count.)
void sum_squares_cpu(const void* gradient,
                     Element type,
                     std::size_t n,
                     float divisor,
                     float* sums,
                     Isa isa,
                     ThreadPool& pool,
                     std::uint32_t* found_infinity = nullptr);
/// Only the check, for a step that needs no norm.
void check_finite_cpu(const void* values,
                      Element type,
                      std::size_t n,
                      std::uint32_t* found_infinity,
                      Isa isa,
                      ThreadPool& pool);
/// The square root of the pairwise fp32 tree over `sums`: sums[i] += sums[i+h], where h is the
/// largest power of two below the length, then halves. 0 when empty.
[[nodiscard]] float global_norm(std::span<const float> sums);
/// max_norm / (norm + 1e-6), computed in double, rounded once, at most 1. NaN for a norm that is
/// not finite, because an infinite norm must not turn the step into zeros.
[[nodiscard]] float clip_factor(float norm, double max_norm);

/// What clipping makes of a step, in memory of the CPU or the GPU.
struct Clip {
  float norm;
  float factor;             ///< clip_factor()
  std::uint32_t held_back;  ///< 1: the norm is not finite, so no update may change anything
};
[[nodiscard]] Clip clip_cpu(std::span<const float> sums, double max_norm);

/// Destination of the sums of squares of a gradient that a pass stores, made as
/// sum_squares_cpu() makes them. Null: the pass makes none.
struct BlockSums {
  float* sums = nullptr;  ///< norm_blocks(n)
  float divisor = 1.0F;
};

/// A part of an array of gradients, with sums of squares of its own.
struct SummedPart {
  std::size_t first_element = 0, elements = 0;
  BlockSums squares;
};

/// kFirst: sum[i] = float(gradient[i]). kAdd: sum[i] + float(gradient[i]).
enum class Accumulate : std::uint8_t { kFirst, kAdd };
void accumulate_cpu(float* sum,
                    const void* gradient,
                    Element type,
                    std::size_t n,
                    Accumulate how,
                    Isa isa,
                    ThreadPool& pool,
                    const BlockSums& squares = {});
/// Adds up `parts` arrays of n elements that lie side by side in `from`, in fp32 and in this order.
/// The sum goes to `to` (kFirst) or is added to what is there (kAdd, fp32 alone); bf16 and fp16 as
/// convert_cpu() rounds.
void sum_parts_cpu(void* to,
                   Element to_type,
                   const void* from,
                   Element type,
                   std::size_t parts,
                   std::size_t n,
                   Accumulate how,
                   Isa isa,
                   ThreadPool& pool);
/// Copies n elements bit for bit, and makes `squares`, which has memory, in the same pass.
void copy_and_sum_squares_cpu(void* to,
                              const void* from,
                              Element type,
                              std::size_t n,
                              const BlockSums& squares,
                              Isa isa,
                              ThreadPool& pool);

/// fp32 to the parameters' dtype: bf16 to nearest with ties away from zero, fp16 to nearest even.
/// Initial masters are exact upcasts.
void convert_cpu(void* out, Element type, const float* in, std::size_t n, ThreadPool& pool);
void upcast_cpu(float* out, const void* in, Element type, std::size_t n, ThreadPool& pool);

}  // namespace elixir::kernels
