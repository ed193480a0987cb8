// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Scratch memory of LibTorch's CUDA reductions: where one block per output would leave the GPU
// idle, several blocks share an output and pass their parts through global memory.

#include <cstdint>
#include <vector>

#include "operators/scratch/cuda_traits.h"
#include "program/program.h"

namespace elixir::operators {

struct ReductionScratch {
  std::int64_t buffer_bytes = 0;      ///< parts of sums; 0: each output is one block's
  std::int64_t semaphores_bytes = 0;  ///< one counter a column of blocks
};

/// Of a reduction of `input` over `dimensions` (none: all of them) that accumulates in
/// `accumulator_bytes` per output and reads four elements at a time. Source: the launch
/// configuration of LibTorch 2.11's ATen/native/cuda/Reduce.cuh and the order of dimensions of
/// TensorIterator.
[[nodiscard]] ReductionScratch reduction_scratch(const program::TensorRef& input,
                                                 const std::vector<std::int64_t>& dimensions,
                                                 std::int64_t accumulator_bytes,
                                                 const CudaTraits& traits);

}  // namespace elixir::operators
