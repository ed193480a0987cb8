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

struct ReductionScratch {
  std::int64_t buffer_bytes = 0;      ///< partial sums; 0: one block per output
  std::int64_t semaphores_bytes = 0;  ///< one counter per column of blocks
};

/// For a reduction of `input` over `dimensions` (empty: all) with an accumulator of
/// `accumulator_bytes` per output that reads four elements at a time. Source: the launch
/// configuration of LibTorch 2.11's ATen/native/cuda/Reduce.cuh, and TensorIterator's order of
/// dimensions.
[[nodiscard]] ReductionScratch reduction_scratch(const program::TensorRef& input,
                                                 const std::vector<std::int64_t>& dimensions,
                                                 std::int64_t accumulator_bytes,
                                                 const CudaTraits& traits);

}  // namespace elixir::operators
