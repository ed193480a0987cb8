// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The device properties by which LibTorch's CUDA kernels choose their scratch memory, and the sizes
// that LibTorch fixes per architecture.

#include <cstdint>
#include <optional>

#include "program/program.h"

namespace elixir::operators {

struct CudaTraits {
  /// Whether runs on a GPU of this architecture were recorded and compared with predictions. If
  /// not, the rules still follow LibTorch's sources, but every call that makes or writes anything
  /// on the device counts as modelled.
  bool recorded = false;
  /// The number on the GPU that stands for the architecture (90: H100 SXM and H200; 80: A100; 89:
  /// RTX 4090); nullopt for unknown architectures.
  std::optional<int> multiprocessors;
  int threads_per_multiprocessor = 2048;
  /// For estimates. An unknown number becomes a number larger than any GPU has, so that estimates
  /// are too high rather than too low.
  [[nodiscard]] int assumed_multiprocessors() const {
    constexpr int kMoreThanAny = 192;
    return multiprocessors.value_or(kMoreThanAny);
  }
  /// cuBLAS's workspace, one for each thread that multiplies matrices
  /// (at::cuda::getChosenWorkspaceSize).
  std::int64_t cublas_workspace_bytes = 0;
  /// Same for cuBLASLt, which linear layers with bias use (default of CUBLASLT_WORKSPACE_SIZE).
  std::int64_t cublaslt_workspace_bytes = 0;
  /// Whether backward runs on its own thread, with its own library handles. True for autograd,
  /// false for a replay.
  bool backward_has_thread = true;
  /// cuDNN's dropout keeps a generator of 24 bytes for every thread that the GPU can hold
  /// (measured: 6,488,064 bytes on an H200).
  [[nodiscard]] std::int64_t cudnn_dropout_state_bytes() const {
    constexpr std::int64_t kGeneratorBytes = 24;
    return kGeneratorBytes * assumed_multiprocessors() * threads_per_multiprocessor;
  }
  /// Device memory of a step with autograd beyond what the allocator reserves: context, modules,
  /// libraries. Measured, and equal for ten models after three steps (LibTorch 2.11.0+cu130, H200,
  /// driver 580.159); nullopt where it was not measured.
  std::optional<std::int64_t> autograd_overhead_bytes;
  /// The part of it that libraries use for the backward thread: measured, 64 to 72 MiB in six
  /// models, replayed on the same machine.
  std::int64_t backward_thread_bytes = 0;
  [[nodiscard]] std::optional<std::int64_t> process_overhead_bytes() const {
    if (!autograd_overhead_bytes || backward_has_thread) return autograd_overhead_bytes;
    return *autograd_overhead_bytes - backward_thread_bytes;
  }
  /// NCCL's memory in each process of a group of `gpus`, with one process per GPU: kernels, buffers
  /// and connections, after all-reduce, all-gather, reduce-scatter and broadcast. 0 for one GPU;
  /// the same for two, three and four (tests/accuracy/nccl_memory.py); nullopt for more, which were
  /// not measured.
  [[nodiscard]] std::optional<std::int64_t> nccl_bytes(std::int64_t gpus) const {
    constexpr std::int64_t kMostMeasured = 4;
    if (gpus <= 1) return 0;
    return gpus <= kMostMeasured ? nccl_of_group_bytes : std::nullopt;
  }
  std::optional<std::int64_t> nccl_of_group_bytes;
};

/// The traits of GPUs with this compute capability. Unknown traits are absent; they are not copied
/// from an H200.
[[nodiscard]] CudaTraits cuda_traits(const program::Target& target);

}  // namespace elixir::operators
