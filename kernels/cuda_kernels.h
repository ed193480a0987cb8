// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// CUDA twins of adam.h and gradient.h with identical bits. Device pointers; every launcher takes
// its stream, checks the launch and never synchronises. `stream` is a cudaStream_t.

#include <cstddef>

#include "adam.h"
#include "gradient.h"

struct CUstream_st;

namespace elixir::kernels {

using CudaStream = CUstream_st*;

void adam_cuda(const AdamArrays& arrays, const AdamScalars& scalars, CudaStream stream);
void sum_squares_cuda(const void* gradient,
                      Element type,
                      std::size_t n,
                      float divisor,
                      float* sums,
                      CudaStream stream);
void accumulate_cuda(float* sum,
                     const void* gradient,
                     Element type,
                     std::size_t n,
                     Accumulate how,
                     CudaStream stream);
void upcast_cuda(float* out, const void* in, Element type, std::size_t n, CudaStream stream);
/// Fills with 0xFF bytes: NaN in every floating dtype.
void poison_cuda(void* memory, std::size_t bytes, CudaStream stream);

}  // namespace elixir::kernels
