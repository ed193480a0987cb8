// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Sums over ranks on the GPU, in rank order, alone or with their squares.
#include "kernels/cuda_element.cuh"
#include "kernels/cuda_kernels.h"
#include "kernels/cuda_launch.h"
#include "kernels/norm_cuda.cuh"

namespace elixir::kernels {
namespace {

// Arrays (arrays, n) side by side in `from`, and their sum `to` (n).
struct SummedArrays {
  void* to;
  const void* from;
  std::size_t arrays, n;
};

__device__ __forceinline__ float4 add(const float4& a, const float4& b) {
  return make_float4(
      __fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w));
}

// to (n) = the sum of `from` (parts, n), or to + that sum. Memory bound. Grid-stride. With kFour,
// all arrays must be aligned to four elements, and n a multiple of four.
template <Element kType, Element kToType, Accumulate kHow, bool kFour>
__global__ void __launch_bounds__(cuda::kThreads)
    sum_parts_kernel(void* to, const void* from, std::size_t parts, std::size_t n) {
  const std::size_t thread = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  if constexpr (kFour) {
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

// What is read after store() of the value.
template <Element kType>
__device__ __forceinline__ float as_stored(float value) {
  if constexpr (kType == Element::kFloat32) {
    return value;
  } else {
    return cuda::to_float<kType>(cuda::from_float<kType>(value));
  }
}
template <Element kType>
__device__ __forceinline__ float4 as_stored(const float4& value) {
  return make_float4(as_stored<kType>(value.x),
                     as_stored<kType>(value.y),
                     as_stored<kType>(value.z),
                     as_stored<kType>(value.w));
}

// The sums of a whole block that begins at element `begin`, with kAhead loads under way, and their
// squares in the thread's four lanes. Memory bound.
template <Element kType, Element kToType, Accumulate kHow>
__device__ void sum_whole_block(const SummedArrays& of,
                                std::size_t begin,
                                float divisor,
                                float (&squares)[4]) {
  constexpr int kAhead = 8;
  const bool divides = divisor != 1.0F;
  const std::size_t first = begin / 4 + threadIdx.x;
  const std::size_t fours = of.n / 4;
  for (int row = 0; row < cuda::kRowsOfBlock; row += kAhead) {
    float4 sum[kAhead];
    const auto quad = [&](int a) {
      return first + static_cast<std::size_t>(row + a) * cuda::kSumThreads;
    };
#pragma unroll
    for (int a = 0; a < kAhead; ++a) sum[a] = cuda::load_four<kType>(of.from, quad(a));
    for (std::size_t array = 1; array < of.arrays; ++array) {
      float4 more[kAhead];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        more[a] = cuda::load_four<kType>(of.from, array * fours + quad(a));
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a) sum[a] = add(sum[a], more[a]);
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      if constexpr (kHow == Accumulate::kAdd) {
        sum[a] = add(cuda::load_four<kToType>(of.to, quad(a)), sum[a]);
      }
      cuda::store_four<kToType>(of.to, quad(a), sum[a]);
      cuda::add_squares(squares, as_stored<kToType>(sum[a]), divisor, divides);
    }
  }
}

template <Element kType, Element kToType, Accumulate kHow>
__device__ __forceinline__ float sum_one(const SummedArrays& of, std::size_t i) {
  float sum = cuda::load<kType>(of.from, i);
  for (std::size_t array = 1; array < of.arrays; ++array) {
    sum = __fadd_rn(sum, cuda::load<kType>(of.from, array * of.n + i));
  }
  if constexpr (kHow == Accumulate::kAdd) sum = __fadd_rn(cuda::load<kToType>(of.to, i), sum);
  cuda::store<kToType>(of.to, i, sum);
  return as_stored<kToType>(sum);
}

// One CUDA block for each block of each part: sums, and their squares. `aligned`: of.n, and both
// arrays, to four elements.
template <Element kType, Element kToType, Accumulate kHow>
__global__ void __launch_bounds__(cuda::kSumThreads)
    sum_parts_and_squares_kernel(const SummedArrays of,
                                 bool aligned,
                                 const __grid_constant__ cuda::PartsLaunch launch) {
  const int number = launch.part_of_block();
  const SummedPart& part = launch.parts[number];
  const std::size_t block = blockIdx.x - launch.first_block[number];
  const std::size_t left = part.elements - block * kNormBlockElements;
  const std::size_t begin = part.first_element + block * kNormBlockElements;
  const std::size_t end = begin + (left < kNormBlockElements ? left : kNormBlockElements);
  float squares[4] = {};
  if (aligned && begin % 4 == 0 && left >= kNormBlockElements) {
    sum_whole_block<kType, kToType, kHow>(of, begin, part.squares.divisor, squares);
  } else {
    const bool divides = part.squares.divisor != 1.0F;
    for (std::size_t i = begin + 4 * threadIdx.x; i < end; i += cuda::kNormLanes) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (i + e >= end) break;
        const float sum = sum_one<kType, kToType, kHow>(of, i + e);
        squares[e] = cuda::add_square(squares[e], sum, part.squares.divisor, divides);
      }
    }
  }
  const float all = cuda::add_lanes(squares);
  if (threadIdx.x == 0) part.squares.sums[block] = all;
}

bool are_aligned(const SummedArrays& of, Element type, Element to_type) {
  return of.n % 4 == 0 && cuda::aligned_for_four(of.to, to_type) &&
         cuda::aligned_for_four(of.from, type);
}

template <Element kType, Element kToType, Accumulate kHow>
void launch(const SummedArrays& of, std::span<const SummedPart> squares, CudaStream stream) {
  const bool aligned = are_aligned(of, kType, kToType);
  if (!squares.empty()) {
    return cuda::for_each_launch(
        squares, "sum_parts_cuda", [&](const cuda::PartsLaunch& parts, unsigned blocks) {
          sum_parts_and_squares_kernel<kType, kToType, kHow>
              <<<blocks, cuda::kSumThreads, 0, stream>>>(of, aligned, parts);
        });
  }
  if (aligned) {
    sum_parts_kernel<kType, kToType, kHow, true>
        <<<cuda::blocks_for(of.n / 4), cuda::kThreads, 0, stream>>>(
            of.to, of.from, of.arrays, of.n);
  } else {
    sum_parts_kernel<kType, kToType, kHow, false>
        <<<cuda::blocks_for(of.n), cuda::kThreads, 0, stream>>>(of.to, of.from, of.arrays, of.n);
  }
  cuda::check_launch("sum_parts_cuda");
}

/// Sums in the type of the parts or in fp32; only sums in fp32 are added to.
template <Element kType>
void sum_typed(const SummedArrays& of,
               Element to_type,
               Accumulate how,
               std::span<const SummedPart> squares,
               CudaStream stream) {
  if (to_type != Element::kFloat32) {
    launch<kType, kType, Accumulate::kFirst>(of, squares, stream);
  } else if (how == Accumulate::kFirst) {
    launch<kType, Element::kFloat32, Accumulate::kFirst>(of, squares, stream);
  } else {
    launch<kType, Element::kFloat32, Accumulate::kAdd>(of, squares, stream);
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
                    CudaStream stream,
                    std::span<const SummedPart> squares) {
  if (n == 0) return;
  const SummedArrays of{to, from, parts, n};
  switch (type) {
    case Element::kFloat32:
      return sum_typed<Element::kFloat32>(of, to_type, how, squares, stream);
    case Element::kBFloat16:
      return sum_typed<Element::kBFloat16>(of, to_type, how, squares, stream);
    case Element::kFloat16:
      return sum_typed<Element::kFloat16>(of, to_type, how, squares, stream);
  }
}

}  // namespace elixir::kernels
