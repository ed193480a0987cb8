// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The loads and stores of adam_cuda_kernel.cuh without arithmetic.
#include <stdexcept>

#include "kernels/adam_cuda_kernel.cuh"
#include "kernels/cuda_kernels.h"

namespace elixir::kernels {
namespace {

/// Hides from the compiler that the stored value is the loaded one.
__device__ __forceinline__ void opaque(uint4& raw) {
  asm volatile("" : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w));
}

__device__ __forceinline__ void move(void* array, std::size_t at) {
  uint4* to = static_cast<uint4*>(array) + at;
  uint4 raw = __ldcs(to);
  opaque(raw);
  __stcs(to, raw);
}
template <std::size_t kBytes>
__device__ __forceinline__ void move_tile(void* array, std::size_t tile, unsigned lane) {
  constexpr std::size_t kPieces = kBytes / 2;  // of 512 bytes each
#pragma unroll
  for (std::size_t i = 0; i < kPieces; ++i) move(array, (tile * kPieces + i) * cuda::kWarp + lane);
}

// A warp strides over tiles of 256 elements. The rest of the array is not touched.
template <Form kForm, std::size_t kMomentBytes>
__global__ void __launch_bounds__(cuda::kThreadsOfEight) streams_kernel(const AdamArrays arrays) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t warps = static_cast<std::size_t>(gridDim.x) * blockDim.x / cuda::kWarp;
  const unsigned lane = threadIdx.x % cuda::kWarp;
  for (std::size_t tile = thread / cuda::kWarp; tile < arrays.n / cuda::kTileElements;
       tile += warps) {
    constexpr std::size_t kPieces = kForm == Form::kMasterOnly ? 2 : 1;
    const auto* from = static_cast<const uint4*>(arrays.gradient) + tile * kPieces * cuda::kWarp;
    uint4 gradient[kPieces];
#pragma unroll
    for (std::size_t i = 0; i < kPieces; ++i) {
      gradient[i] = __ldcs(from + i * cuda::kWarp + lane);
      opaque(gradient[i]);
    }
    if constexpr (kForm == Form::kSplit) {
      move_tile<2>(arrays.parameter, tile, lane);
      move_tile<2>(arrays.lower, tile, lane);
    } else {
      move_tile<4>(arrays.master, tile, lane);
    }
    move_tile<kMomentBytes>(arrays.moment1, tile, lane);
    move_tile<kMomentBytes>(arrays.moment2, tile, lane);
    if constexpr (kForm == Form::kBFloat16) {
      __stcs(static_cast<uint4*>(arrays.parameter) + tile * cuda::kWarp + lane, gradient[0]);
    }
  }
}

template <Form kForm, std::size_t kMomentBytes>
void launch(const AdamArrays& arrays, CudaStream stream) {
  const std::size_t threads = arrays.n / cuda::kTileElements * cuda::kWarp;
  streams_kernel<kForm, kMomentBytes>
      <<<cuda::blocks_for(threads, cuda::kThreadsOfEight), cuda::kThreadsOfEight, 0, stream>>>(
          arrays);
  cuda::check_launch("adam_streams_cuda");
}

template <Form kForm>
void launch_formed(const AdamArrays& arrays, CudaStream stream) {
  if (arrays.moment_type == Element::kBFloat16) {
    launch<kForm, 2>(arrays, stream);
  } else {
    launch<kForm, 4>(arrays, stream);
  }
}

}  // namespace

void adam_streams_cuda(const AdamArrays& arrays, CudaStream stream) {
  const bool narrow = bytes_of(arrays.gradient_type) == 2 && bytes_of(arrays.parameter_type) == 2;
  const bool same_width =
      arrays.parameter == nullptr ? arrays.gradient_type == Element::kFloat32 : narrow;
  if (!same_width || !cuda::aligned_to_16(arrays)) {
    throw std::invalid_argument("adam_streams_cuda: no streams of these dtypes and alignments");
  }
  if (arrays.lower != nullptr) {
    launch_formed<Form::kSplit>(arrays, stream);
  } else if (arrays.parameter != nullptr) {
    launch_formed<Form::kBFloat16>(arrays, stream);
  } else {
    launch_formed<Form::kMasterOnly>(arrays, stream);
  }
}

}  // namespace elixir::kernels
