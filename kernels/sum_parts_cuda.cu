// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Sums over ranks on the GPU, in rank order.
#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"

namespace elixir::kernels {
namespace {

// to (n) = the sum of `from` (parts, n), or to + that sum. Memory bound. Grid-stride. With kFour,
// all arrays must be aligned to four elements, and n a multiple of four.
template <Element kType, Element kToType, Accumulate kHow, bool kFour>
__global__ void __launch_bounds__(cuda::kThreads)
    sum_parts_kernel(void* to, const void* from, std::size_t parts, std::size_t n) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  if constexpr (kFour) {
    const auto add = [](const float4& a, const float4& b) {
      return make_float4(
          __fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w));
    };
    const std::size_t fours = n / 4;
    for (std::size_t i = thread; i < fours; i += threads) {
      float4 sum = cuda::load_four<kType>(from, i);
      for (std::size_t part = 1; part < parts; ++part) {
        sum = add(sum, cuda::load_four<kType>(from, part * fours + i));
      }
      if constexpr (kHow == Accumulate::kAdd) sum = add(cuda::load_four<kToType>(to, i), sum);
      cuda::store_four<kToType>(to, i, sum);
    }
  } else {
    for (std::size_t i = thread; i < n; i += threads) {
      float sum = cuda::load<kType>(from, i);
      for (std::size_t part = 1; part < parts; ++part) {
        sum = __fadd_rn(sum, cuda::load<kType>(from, part * n + i));
      }
      if constexpr (kHow == Accumulate::kAdd) sum = __fadd_rn(cuda::load<kToType>(to, i), sum);
      cuda::store<kToType>(to, i, sum);
    }
  }
}

template <Element kType, Element kToType, Accumulate kHow>
void launch(void* to, const void* from, std::size_t parts, std::size_t n, CudaStream stream) {
  if (n % 4 == 0 && cuda::aligned_for_four(to, kToType) && cuda::aligned_for_four(from, kType)) {
    sum_parts_kernel<kType, kToType, kHow, true>
        <<<cuda::blocks_for(n / 4), cuda::kThreads, 0, stream>>>(to, from, parts, n);
  } else {
    sum_parts_kernel<kType, kToType, kHow, false>
        <<<cuda::blocks_for(n), cuda::kThreads, 0, stream>>>(to, from, parts, n);
  }
  cuda::check_launch("sum_parts_cuda");
}

/// Sums in the type of the parts or in fp32; only those in fp32 are added to.
template <Element kType>
void sum_typed(void* to,
               Element to_type,
               const void* from,
               std::size_t parts,
               std::size_t n,
               Accumulate how,
               CudaStream stream) {
  if (to_type != Element::kFloat32) {
    launch<kType, kType, Accumulate::kFirst>(to, from, parts, n, stream);
  } else if (how == Accumulate::kFirst) {
    launch<kType, Element::kFloat32, Accumulate::kFirst>(to, from, parts, n, stream);
  } else {
    launch<kType, Element::kFloat32, Accumulate::kAdd>(to, from, parts, n, stream);
  }
}

}  // namespace

void sum_parts_cuda(void* to,
                    Element to_type,
                    const void* from,
                    Element type,
                    std::size_t parts,
                    std::size_t n,
                    Accumulate how,
                    CudaStream stream) {
  if (n == 0) return;
  switch (type) {
    case Element::kFloat32:
      return sum_typed<Element::kFloat32>(to, to_type, from, parts, n, how, stream);
    case Element::kBFloat16:
      return sum_typed<Element::kBFloat16>(to, to_type, from, parts, n, how, stream);
    case Element::kFloat16:
      return sum_typed<Element::kFloat16>(to, to_type, from, parts, n, how, stream);
  }
}

}  // namespace elixir::kernels
