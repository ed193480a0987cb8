// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The sum of squares of a block of 65,536 elements by one CUDA block, in the order of gradient.h: a
// thread has the four lanes from 4 * threadIdx.x on. And parts of an array, of which each has sums
// of its own, for one launch.

#include <cstddef>
#include <span>

#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"

namespace elixir::kernels::cuda {

constexpr int kNormLanes = 1024;
constexpr int kSumThreads = kNormLanes / 4;
constexpr int kRowsOfBlock = kNormBlockElements / kNormLanes;

__device__ __forceinline__ float add_square(float sum, float g, float divisor, bool divides) {
  if (divides) g = __fdiv_rn(g, divisor);
  return __fmaf_rn(g, g, sum);
}

__device__ __forceinline__ void add_squares(float (&sum)[4],
                                            float4 g,
                                            float divisor,
                                            bool divides) {
  sum[0] = add_square(sum[0], g.x, divisor, divides);
  sum[1] = add_square(sum[1], g.y, divisor, divides);
  sum[2] = add_square(sum[2], g.z, divisor, divides);
  sum[3] = add_square(sum[3], g.w, divisor, divides);
}

/// The pairwise sum of all lanes, for every thread.
__device__ __forceinline__ float add_lanes(const float (&sum)[4]) {
  __shared__ float lanes[kNormLanes];
#pragma unroll
  for (int e = 0; e < 4; ++e) lanes[4 * threadIdx.x + e] = sum[e];
  for (int half = kNormLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    for (int lane = static_cast<int>(threadIdx.x); lane < half; lane += kSumThreads) {
      lanes[lane] = __fadd_rn(lanes[lane], lanes[lane + half]);
    }
  }
  __syncthreads();
  return lanes[0];
}

/// Parts for one launch, with one CUDA block for each block of each. What a kernel takes as
/// arguments is at most 4 KiB.
struct PartsLaunch {
  static constexpr int kMost = 96;
  int count;
  unsigned first_block[kMost];  // of each part, among those of the launch
  SummedPart parts[kMost];

  /// The part that the CUDA block belongs to.
  [[nodiscard]] __device__ __forceinline__ int part_of_block() const {
    int part = 0;
    while (part + 1 < count && blockIdx.x >= first_block[part + 1]) ++part;
    return part;
  }
};
static_assert(sizeof(PartsLaunch) <= 4096 - 64);  // the kernels' other arguments take less than 64

/// Calls launch(parts, CUDA blocks) as often as it takes.
template <class Launch>
void for_each_launch(std::span<const SummedPart> parts, const char* name, const Launch& launch) {
  for (std::size_t begin = 0; begin < parts.size();) {
    PartsLaunch now{};
    unsigned blocks = 0;
    for (; begin < parts.size() && now.count < PartsLaunch::kMost; ++begin) {
      if (parts[begin].elements == 0) continue;
      now.first_block[now.count] = blocks;
      now.parts[now.count++] = parts[begin];
      blocks += static_cast<unsigned>(norm_blocks(parts[begin].elements));
    }
    if (blocks == 0) continue;
    launch(now, blocks);
    check_launch(name);
  }
}

}  // namespace elixir::kernels::cuda
