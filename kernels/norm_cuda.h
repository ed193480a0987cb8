// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// accumulate_cuda() with sums of squares, for gradient_cuda.cu. Callers outside include
// cuda_kernels.h.

#include "kernels/cuda_kernels.h"

namespace elixir::kernels {

void accumulate_and_sum_squares_cuda(float* sum,
                                     const void* gradient,
                                     Element type,
                                     std::size_t n,
                                     Accumulate how,
                                     const BlockSums& squares,
                                     CudaStream stream);

}  // namespace elixir::kernels
