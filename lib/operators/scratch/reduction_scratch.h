// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Scratch memory of LibTorch's CUDA reductions. When one block per output would leave the GPU idle,
// several blocks share an output and exchange partial results through global memory.

#include <cstdint>
#include <vector>

#include "operators/scratch/cuda_traits.h"
#include "program/program.h"

namespace elixir::operators {

/// Scratch memory of one reduction kernel.
struct ReductionScratch {
  std::int64_t buffer_bytes = 0;      ///< partial sums; 0: one block per output
  std::int64_t semaphores_bytes = 0;  ///< one counter per column of blocks
  bool operator==(const ReductionScratch&) const = default;
};

/// The sizes of what a reduction reads, writes and counts in.
struct ReducedDTypes {
  std::int64_t input_bytes = 0, result_bytes = 0;  ///< of an element
  std::int64_t accumulator_bytes = 0;              ///< of one output
  /// Whether kernels that share an output can add up in the result. Half precision cannot hold what
  /// they count in.
  bool sums_in_result = true;
};

/// What a reduction asks for. Kernels reach memory with 32-bit offsets in bytes. A larger reduction
/// is halved until its parts are small enough, and each part is a kernel of its own.
struct ReductionRequests {
  bool known = true;                      ///< false: no memory holds what is reduced
  std::int64_t sums_bytes = 0;            ///< of all parts, in the order of the result; 0: one part
  std::vector<ReductionScratch> kernels;  ///< one after the other, each released after its kernel
};

/// For a reduction of `input` over `dimensions` (empty: all) that reads four elements at a time.
/// Source: gpu_reduce_kernel and the launch configuration of LibTorch 2.11's
/// ATen/native/cuda/Reduce.cuh; TensorIterator's order of dimensions, and how it splits them.
[[nodiscard]] ReductionRequests reduction_requests(const program::TensorRef& input,
                                                   const std::vector<std::int64_t>& dimensions,
                                                   const ReducedDTypes& dtypes,
                                                   const CudaTraits& traits);

}  // namespace elixir::operators
