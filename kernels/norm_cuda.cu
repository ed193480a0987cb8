// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Sums of squares of gradients, alone or while they are stored, the clip factor, and the check for
// finite values on the GPU, in the order of gradient.h.
#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"
#include "kernels/norm_cuda.cuh"
#include "kernels/norm_cuda.h"

namespace elixir::kernels {
namespace {

using cuda::kNormLanes;
using cuda::kSumThreads;
constexpr double kNormEpsilon = 1e-6;  // as in clip_factor()

// What a pass over a gradient stores.
enum class Store : std::uint8_t { kNothing, kCopy, kFirst, kAdd };

struct SumLaunch {
  const void* gradient;  // (n)
  void* stored;          // (n): the gradient's bits, or fp32 (accumulate_cpu)
  std::size_t n;
  float divisor;
  float* sums;           // (norm_blocks(n)), overwritten
  std::uint32_t* found;  // may be null
};

// Stores four elements, the quad-th of both arrays, and returns them as they are stored.
template <Element kType, Store kStore>
__device__ __forceinline__ float4 pass_four(const SumLaunch& launch,
                                            std::size_t quad,
                                            typename cuda::Stored<kType>::Four loaded,
                                            float4 before) {
  using Four = typename cuda::Stored<kType>::Four;
  float4 value = cuda::widen_four<kType>(loaded);
  if constexpr (kStore == Store::kCopy) __stcs(static_cast<Four*>(launch.stored) + quad, loaded);
  if constexpr (kStore == Store::kAdd) {
    value.x = __fadd_rn(before.x, value.x);
    value.y = __fadd_rn(before.y, value.y);
    value.z = __fadd_rn(before.z, value.z);
    value.w = __fadd_rn(before.w, value.w);
  }
  if constexpr (kStore == Store::kFirst || kStore == Store::kAdd) {
    cuda::store_four<Element::kFloat32>(launch.stored, quad, value);
  }
  return value;
}

template <Element kType, Store kStore>
__device__ __forceinline__ float pass_one(const SumLaunch& launch, std::size_t i) {
  using Type = typename cuda::Stored<kType>::Type;
  const Type loaded = static_cast<const Type*>(launch.gradient)[i];
  float value = cuda::widen<kType>(loaded);
  if constexpr (kStore == Store::kCopy) static_cast<Type*>(launch.stored)[i] = loaded;
  if constexpr (kStore == Store::kAdd) {
    value = __fadd_rn(static_cast<const float*>(launch.stored)[i], value);
  }
  if constexpr (kStore == Store::kFirst || kStore == Store::kAdd) {
    static_cast<float*>(launch.stored)[i] = value;
  }
  return value;
}

// Every lane of a whole block, four lanes a thread, with kAhead loads under way. Memory bound.
template <Element kType, Store kStore>
__device__ void add_whole_block(const SumLaunch& launch, std::size_t begin, float (&sum)[4]) {
  using Four = typename cuda::Stored<kType>::Four;
  constexpr int kAhead = kStore == Store::kAdd ? 4 : 8;
  const bool divides = launch.divisor != 1.0F;
  const std::size_t first = begin / 4 + threadIdx.x;
  for (int row = 0; row < cuda::kRowsOfBlock; row += kAhead) {
    Four loaded[kAhead];
    float4 before[kAhead] = {};
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const std::size_t quad = first + static_cast<std::size_t>(row + a) * kSumThreads;
      loaded[a] = __ldcs(static_cast<const Four*>(launch.gradient) + quad);
      if constexpr (kStore == Store::kAdd) {
        before[a] = cuda::load_four<Element::kFloat32>(launch.stored, quad);
      }
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const std::size_t quad = first + static_cast<std::size_t>(row + a) * kSumThreads;
      const float4 value = pass_four<kType, kStore>(launch, quad, loaded[a], before[a]);
      cuda::add_squares(sum, value, launch.divisor, divides);
    }
  }
}

// The sum of squares of a block of 65,536 elements by a CUDA block (gradient.h), and what is
// stored. A thread has the four lanes from 4 * threadIdx.x on. If the sum is not finite and `found`
// is given, the block's elements are checked: squares do not cancel, but they may overflow.
template <Element kType, Store kStore>
__device__ __forceinline__ void sum_block(const SumLaunch& launch,
                                          std::size_t block,
                                          bool aligned) {
  const std::size_t begin = block * kNormBlockElements;
  const std::size_t left = launch.n - begin;
  const std::size_t end = begin + (left < kNormBlockElements ? left : kNormBlockElements);
  float sum[4] = {};
  if (aligned && left >= kNormBlockElements) {
    add_whole_block<kType, kStore>(launch, begin, sum);
  } else {
    const bool divides = launch.divisor != 1.0F;
    for (std::size_t i = begin + 4 * threadIdx.x; i < end; i += kNormLanes) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (i + e >= end) break;
        sum[e] = cuda::add_square(
            sum[e], pass_one<kType, kStore>(launch, i + e), launch.divisor, divides);
      }
    }
  }
  const float squares = cuda::add_lanes(sum);
  if (threadIdx.x == 0) launch.sums[block] = squares;
  if (launch.found == nullptr || isfinite(squares)) return;
  bool finite = true;
  for (std::size_t i = begin + threadIdx.x; i < end; i += kSumThreads) {
    finite = finite && isfinite(cuda::load<kType>(launch.gradient, i));
  }
  if (!finite) atomicOr(launch.found, 1U);
}

// One CUDA block for each block of norm_blocks(n).
template <Element kType, Store kStore>
__global__ void __launch_bounds__(kSumThreads)
    sum_squares_kernel(const SumLaunch launch, bool aligned) {
  sum_block<kType, kStore>(launch, blockIdx.x, aligned);
}

// Parts of `gradients`.
template <Element kType>
__global__ void __launch_bounds__(kSumThreads)
    sum_squares_of_parts_kernel(const void* gradients,
                                const __grid_constant__ cuda::PartsLaunch launch) {
  const int part = launch.part_of_block();
  const SummedPart& of = launch.parts[part];
  using Type = typename cuda::Stored<kType>::Type;
  const Type* const gradient = static_cast<const Type*>(gradients) + of.first_element;
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(gradient) % sizeof(typename cuda::Stored<kType>::Four) == 0;
  sum_block<kType, Store::kNothing>(
      {gradient, nullptr, of.elements, of.squares.divisor, of.squares.sums, nullptr},
      blockIdx.x - launch.first_block[part],
      aligned);
}

// values (n). Sets found to 1 when a value is not finite. Memory bound: reads 2 or 4 B per element.
// Grid-stride.
template <Element kType>
__global__ void __launch_bounds__(cuda::kThreads)
    check_finite_kernel(const void* values, std::size_t n, bool aligned, std::uint32_t* found) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t quads = aligned ? n / 4 : 0;
  float suspect = 0.0F;  // 0 * x is NaN if x is not finite
  for (std::size_t i = thread; i < quads; i += threads) {
    const float4 four = cuda::load_four<kType>(values, i);
    suspect = __fmaf_rn(four.x, 0.0F, suspect);
    suspect = __fmaf_rn(four.y, 0.0F, suspect);
    suspect = __fmaf_rn(four.z, 0.0F, suspect);
    suspect = __fmaf_rn(four.w, 0.0F, suspect);
  }
  for (std::size_t i = quads * 4 + thread; i < n; i += threads) {
    suspect = __fmaf_rn(cuda::load<kType>(values, i), 0.0F, suspect);
  }
  if (suspect != suspect) atomicOr(found, 1U);
}

// The tree of global_norm() over sums (count), in one block, and what clipping makes of it.
// Overwrites sums.
__global__ void __launch_bounds__(kNormLanes)
    clip_kernel(float* sums, std::size_t count, double max_norm, Clip* clip) {
  std::size_t half = 1;
  while (2 * half < count) half *= 2;
  for (std::size_t length = count; length > 1; length = half, half /= 2) {
    for (std::size_t i = threadIdx.x; i + half < length; i += kNormLanes) {
      sums[i] = __fadd_rn(sums[i], sums[i + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const float norm = count == 0 ? 0.0F : __fsqrt_rn(sums[0]);
  const bool finite = isfinite(norm);
  const double factor = __ddiv_rn(max_norm, __dadd_rn(static_cast<double>(norm), kNormEpsilon));
  clip->norm = norm;
  clip->factor = !finite ? nanf("") : factor > 1.0 ? 1.0F : __double2float_rn(factor);
  clip->held_back = finite ? 0U : 1U;
}

template <Element kType, Store kStore>
void launch_sum(const SumLaunch& launch, CudaStream stream, const char* name) {
  bool aligned = cuda::aligned_for_four(launch.gradient, kType);
  if (kStore == Store::kCopy) aligned = aligned && cuda::aligned_for_four(launch.stored, kType);
  if (kStore == Store::kFirst || kStore == Store::kAdd) {
    aligned = aligned && cuda::aligned_for_four(launch.stored, Element::kFloat32);
  }
  const auto blocks = static_cast<unsigned>(norm_blocks(launch.n));
  sum_squares_kernel<kType, kStore><<<blocks, kSumThreads, 0, stream>>>(launch, aligned);
  cuda::check_launch(name);
}

template <Store kStore>
void launch_sum(const SumLaunch& launch, Element type, CudaStream stream, const char* name) {
  if (launch.n == 0) return;
  switch (type) {
    case Element::kFloat32:
      return launch_sum<Element::kFloat32, kStore>(launch, stream, name);
    case Element::kBFloat16:
      return launch_sum<Element::kBFloat16, kStore>(launch, stream, name);
    case Element::kFloat16:
      return launch_sum<Element::kFloat16, kStore>(launch, stream, name);
  }
}

template <Element kType>
void launch_parts(const void* gradients, std::span<const SummedPart> parts, CudaStream stream) {
  cuda::for_each_launch(
      parts, "sum_squares_of_parts_cuda", [&](const cuda::PartsLaunch& launch, unsigned blocks) {
        sum_squares_of_parts_kernel<kType><<<blocks, kSumThreads, 0, stream>>>(gradients, launch);
      });
}

template <Element kType>
void launch_check(const void* values, std::size_t n, std::uint32_t* found, CudaStream stream) {
  const bool aligned = cuda::aligned_for_four(values, kType);
  check_finite_kernel<kType><<<cuda::blocks_for(aligned ? n / 4 : n), cuda::kThreads, 0, stream>>>(
      values, n, aligned, found);
  cuda::check_launch("check_finite_cuda");
}

}  // namespace

void sum_squares_cuda(const void* gradient,
                      Element type,
                      std::size_t n,
                      float divisor,
                      float* sums,
                      CudaStream stream,
                      std::uint32_t* found_infinity) {
  launch_sum<Store::kNothing>(
      {gradient, nullptr, n, divisor, sums, found_infinity}, type, stream, "sum_squares_cuda");
}

void sum_squares_of_parts_cuda(const void* gradients,
                               Element type,
                               std::span<const SummedPart> parts,
                               CudaStream stream) {
  switch (type) {
    case Element::kFloat32:
      return launch_parts<Element::kFloat32>(gradients, parts, stream);
    case Element::kBFloat16:
      return launch_parts<Element::kBFloat16>(gradients, parts, stream);
    case Element::kFloat16:
      return launch_parts<Element::kFloat16>(gradients, parts, stream);
  }
}

void copy_and_sum_squares_cuda(void* to,
                               const void* from,
                               Element type,
                               std::size_t n,
                               const BlockSums& squares,
                               CudaStream stream) {
  launch_sum<Store::kCopy>({from, to, n, squares.divisor, squares.sums, nullptr},
                           type,
                           stream,
                           "copy_and_sum_squares_cuda");
}

void accumulate_and_sum_squares_cuda(float* sum,
                                     const void* gradient,
                                     Element type,
                                     std::size_t n,
                                     Accumulate how,
                                     const BlockSums& squares,
                                     CudaStream stream) {
  const SumLaunch launch{gradient, sum, n, squares.divisor, squares.sums, nullptr};
  if (how == Accumulate::kFirst) {
    launch_sum<Store::kFirst>(launch, type, stream, "accumulate_cuda");
  } else {
    launch_sum<Store::kAdd>(launch, type, stream, "accumulate_cuda");
  }
}

void check_finite_cuda(const void* values,
                       Element type,
                       std::size_t n,
                       std::uint32_t* found_infinity,
                       CudaStream stream) {
  if (n == 0) return;
  switch (type) {
    case Element::kFloat32:
      launch_check<Element::kFloat32>(values, n, found_infinity, stream);
      return;
    case Element::kBFloat16:
      launch_check<Element::kBFloat16>(values, n, found_infinity, stream);
      return;
    case Element::kFloat16:
      launch_check<Element::kFloat16>(values, n, found_infinity, stream);
      return;
  }
}

void clip_cuda(float* sums, std::size_t count, double max_norm, Clip* clip, CudaStream stream) {
  clip_kernel<<<1, kNormLanes, 0, stream>>>(sums, count, max_norm, clip);
  cuda::check_launch("clip_cuda");
}

}  // namespace elixir::kernels
