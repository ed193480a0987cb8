// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Gradient norm and check for finite values on the GPU, in the order of gradient.h.
#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"

namespace elixir::kernels {
namespace {

constexpr int kNormLanes = 1024;
constexpr double kNormEpsilon = 1e-6;  // as in clip_factor()

// The sum of squares of one block of 65,536 elements per CUDA block, with one lane per thread.
// gradient (n), sums (norm_blocks(n)), overwritten. Memory bound: reads 2 or 4 B per element. If a
// block's sum is not finite, its elements are checked: squares do not cancel, but they may
// overflow.
template <Element kType>
__global__ void __launch_bounds__(kNormLanes) sum_squares_kernel(
    const void* gradient, std::size_t n, float divisor, float* sums, std::uint32_t* found) {
  __shared__ float lanes[kNormLanes];
  const std::size_t begin = blockIdx.x * kNormBlockElements;
  const std::size_t left = n - begin;
  const std::size_t end = begin + (left < kNormBlockElements ? left : kNormBlockElements);
  const bool divides = divisor != 1.0F;
  float sum = 0.0F;
#pragma unroll 8
  for (std::size_t i = begin + threadIdx.x; i < end; i += kNormLanes) {
    float g = cuda::load<kType>(gradient, i);
    if (divides) g = __fdiv_rn(g, divisor);
    sum = __fmaf_rn(g, g, sum);
  }
  lanes[threadIdx.x] = sum;
  for (int half = kNormLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      lanes[threadIdx.x] = __fadd_rn(lanes[threadIdx.x], lanes[threadIdx.x + half]);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = lanes[0];
  if (found == nullptr || isfinite(lanes[0])) return;
  bool finite = true;
  for (std::size_t i = begin + threadIdx.x; i < end; i += kNormLanes) {
    finite = finite && isfinite(cuda::load<kType>(gradient, i));
  }
  if (!finite) atomicOr(found, 1U);
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

// The tree of global_norm() over sums (count), in one block. Overwrites sums.
__global__ void __launch_bounds__(kNormLanes) clip_kernel(
    float* sums, std::size_t count, double max_norm, float* norm, AdamScalars* scalars) {
  std::size_t half = 1;
  while (2 * half < count) half *= 2;
  for (std::size_t length = count; length > 1; length = half, half /= 2) {
    for (std::size_t i = threadIdx.x; i + half < length; i += kNormLanes) {
      sums[i] = __fadd_rn(sums[i], sums[i + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const float root = count == 0 ? 0.0F : __fsqrt_rn(sums[0]);
  *norm = root;
  if (scalars == nullptr) return;
  if (!isfinite(root)) {
    scalars->clip = nanf("");
    return;
  }
  const double factor = __ddiv_rn(max_norm, __dadd_rn(static_cast<double>(root), kNormEpsilon));
  scalars->clip = factor > 1.0 ? 1.0F : __double2float_rn(factor);
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
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>(norm_blocks(n));
  switch (type) {
    case Element::kFloat32:
      sum_squares_kernel<Element::kFloat32>
          <<<blocks, kNormLanes, 0, stream>>>(gradient, n, divisor, sums, found_infinity);
      break;
    case Element::kBFloat16:
      sum_squares_kernel<Element::kBFloat16>
          <<<blocks, kNormLanes, 0, stream>>>(gradient, n, divisor, sums, found_infinity);
      break;
    case Element::kFloat16:
      sum_squares_kernel<Element::kFloat16>
          <<<blocks, kNormLanes, 0, stream>>>(gradient, n, divisor, sums, found_infinity);
      break;
  }
  cuda::check_launch("sum_squares_cuda");
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

void clip_cuda(float* sums,
               std::size_t count,
               double max_norm,
               float* norm,
               AdamScalars* scalars,
               CudaStream stream) {
  clip_kernel<<<1, kNormLanes, 0, stream>>>(sums, count, max_norm, norm, scalars);
  cuda::check_launch("clip_cuda");
}

}  // namespace elixir::kernels
