// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Accumulation and conversions on the GPU.
#include <string>

#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"
#include "kernels/launch_failure.h"
#include "kernels/norm_cuda.h"

namespace elixir::kernels {
namespace {

// sum = float(gradient), or sum + float(gradient). sum (n), gradient (n). Memory bound.
// Grid-stride. With kFour, both arrays must be aligned to four elements.
template <Element kType, Accumulate kHow, bool kFour>
__global__ void __launch_bounds__(cuda::kThreads)
    accumulate_kernel(float* sum, const void* gradient, std::size_t n) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  std::size_t done = 0;
  if constexpr (kFour) {
    for (std::size_t i = thread; i < n / 4; i += threads) {
      float4 value = cuda::load_four<kType>(gradient, i);
      if constexpr (kHow == Accumulate::kAdd) {
        const float4 before = cuda::load_four<Element::kFloat32>(sum, i);
        value.x = __fadd_rn(before.x, value.x);
        value.y = __fadd_rn(before.y, value.y);
        value.z = __fadd_rn(before.z, value.z);
        value.w = __fadd_rn(before.w, value.w);
      }
      cuda::store_four<Element::kFloat32>(sum, i, value);
    }
    done = n / 4 * 4;
  }
  for (std::size_t i = done + thread; i < n; i += threads) {
    float value = cuda::load<kType>(gradient, i);
    if constexpr (kHow == Accumulate::kAdd) value = __fadd_rn(sum[i], value);
    sum[i] = value;
  }
}

template <Element kType, Accumulate kHow>
void launch_accumulate(float* sum, const void* gradient, std::size_t n, CudaStream stream) {
  if (cuda::aligned_for_four(sum, Element::kFloat32) && cuda::aligned_for_four(gradient, kType)) {
    accumulate_kernel<kType, kHow, true>
        <<<cuda::blocks_for(n / 4), cuda::kThreads, 0, stream>>>(sum, gradient, n);
  } else {
    accumulate_kernel<kType, kHow, false>
        <<<cuda::blocks_for(n), cuda::kThreads, 0, stream>>>(sum, gradient, n);
  }
  cuda::check_launch("accumulate_cuda");
}

template <Element kType>
void accumulate_typed(
    float* sum, const void* gradient, std::size_t n, Accumulate how, CudaStream stream) {
  if (how == Accumulate::kFirst) {
    launch_accumulate<kType, Accumulate::kFirst>(sum, gradient, n, stream);
  } else {
    launch_accumulate<kType, Accumulate::kAdd>(sum, gradient, n, stream);
  }
}

}  // namespace

void accumulate_cuda(float* sum,
                     const void* gradient,
                     Element type,
                     std::size_t n,
                     Accumulate how,
                     CudaStream stream,
                     const BlockSums& squares) {
  if (n == 0) return;
  if (squares.sums != nullptr) {
    return accumulate_and_sum_squares_cuda(sum, gradient, type, n, how, squares, stream);
  }
  switch (type) {
    case Element::kFloat32:
      accumulate_typed<Element::kFloat32>(sum, gradient, n, how, stream);
      return;
    case Element::kBFloat16:
      accumulate_typed<Element::kBFloat16>(sum, gradient, n, how, stream);
      return;
    case Element::kFloat16:
      accumulate_typed<Element::kFloat16>(sum, gradient, n, how, stream);
      return;
  }
}

void upcast_cuda(float* out, const void* in, Element type, std::size_t n, CudaStream stream) {
  accumulate_cuda(out, in, type, n, Accumulate::kFirst, stream);
}

void poison_cuda(void* memory, std::size_t bytes, CudaStream stream) {
  if (bytes == 0) return;
  const cudaError_t error = cudaMemsetAsync(memory, 0xFF, bytes, stream);
  if (error != cudaSuccess) {
    throw LaunchFailure(std::string("poison_cuda: ") + cudaGetErrorString(error));
  }
}

}  // namespace elixir::kernels
