// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The CUDA versions of adam.h and gradient.h, with identical bits, and of cross_entropy.h, whose
// bits are the GPU's own. Pointers are device pointers.
// Every launcher takes a stream (`stream` is a cudaStream_t), checks the launch (LaunchFailure) and
// never synchronises.

#include <cstddef>
#include <cstdint>

#include "kernels/adam.h"
#include "kernels/cross_entropy.h"
#include "kernels/gradient.h"
#include "kernels/host_arena.h"

struct CUstream_st;

namespace elixir::kernels {

using CudaStream = CUstream_st*;

/// One launch. `found` must point to memory that the GPU can read and write. `clip` is as on the
/// CPU, in device memory: earlier work on the stream may write it.
void adam_cuda(const AdamArrays& arrays,
               const AdamScalars& scalars,
               CudaStream stream,
               const FoundInfinity& found = {},
               const Clip* clip = nullptr);
/// adam_streams_cpu() on the GPU, over the whole tiles of 256 elements. Arrays must be aligned to
/// 16 bytes.
void adam_streams_cuda(const AdamArrays& arrays, CudaStream stream);

void sum_squares_cuda(const void* gradient,
                      Element type,
                      std::size_t n,
                      float divisor,
                      float* sums,
                      CudaStream stream,
                      std::uint32_t* found_infinity = nullptr);
/// The same for each of `parts`, in as few launches as possible: beside a matrix product, each
/// launch waits for multiprocessors, however small it is.
void sum_squares_of_parts_cuda(const void* gradients,
                               Element type,
                               std::span<const SummedPart> parts,
                               CudaStream stream);
void check_finite_cuda(const void* values,
                       Element type,
                       std::size_t n,
                       std::uint32_t* found_infinity,
                       CudaStream stream);
/// clip_cpu() on the device. Overwrites `sums` (count elements).
void clip_cuda(float* sums, std::size_t count, double max_norm, Clip* clip, CudaStream stream);
void accumulate_cuda(float* sum,
                     const void* gradient,
                     Element type,
                     std::size_t n,
                     Accumulate how,
                     CudaStream stream,
                     const BlockSums& squares = {});
/// As on the CPU. With `squares`, which are parts of the sum: adds up these alone, and makes their
/// sums of squares in the same pass.
void sum_parts_cuda(void* to,
                    Element to_type,
                    const void* from,
                    Element type,
                    std::size_t parts,
                    std::size_t n,
                    Accumulate how,
                    CudaStream stream,
                    std::span<const SummedPart> squares = {});
void copy_and_sum_squares_cuda(void* to,
                               const void* from,
                               Element type,
                               std::size_t n,
                               const BlockSums& squares,
                               CudaStream stream);
void upcast_cuda(float* out, const void* in, Element type, std::size_t n, CudaStream stream);
/// Locks pages so that every GPU can access them at the host's address (host_arena.h).
[[nodiscard]] const PageLock& cuda_page_lock();

/// cross_entropy_cpu() and sum_losses(): writes `statistics` (kStatistics, rows), the loss in
/// `loss_type` (each row's without a reduction) and the sum of weights. A target that is no class
/// makes the loss and the row's gradient NaN.
void cross_entropy_cuda(const CrossEntropyRows& of,
                        float* statistics,
                        void* loss,
                        Element loss_type,
                        float* weight,
                        CudaStream stream);
/// cross_entropy_gradient_cpu(), with the losses' gradients and the sum of weights in device
/// memory.
void cross_entropy_gradient_cuda(const CrossEntropyRows& of,
                                 const float* statistics,
                                 const LossGradients& gradients,
                                 const float* weight,
                                 CudaStream stream);

/// A kernel that does nothing, for which later copies on the stream wait. A copy engine serves one
/// stream until that has no copy for it; without gaps, copies on other streams in the same
/// direction wait until then, whatever their priority, and for as long as it takes.
void leave_gap_cuda(CudaStream stream);

/// Fills memory with 0xFF bytes, which are NaN in every floating dtype.
void poison_cuda(void* memory, std::size_t bytes, CudaStream stream);

}  // namespace elixir::kernels
