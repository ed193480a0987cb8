// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What LibTorch's CUDA kernels ask about the device before they choose how much scratch memory to
// take, and the sizes that LibTorch fixes per architecture.

#include <cstdint>
#include <optional>

#include "program/program.h"

namespace elixir::operators {

struct CudaTraits {
  /// Whether runs on a GPU of this architecture were recorded and compared with what is predicted.
  /// Where they were not, rules after LibTorch's sources stand, and all scratch memory is modelled.
  bool recorded = false;
  /// Of the GPU that the architecture stands for (90: H100 SXM and H200; 80: A100; 89: RTX 4090);
  /// nullopt where we know of none.
  std::optional<int> multiprocessors;
  int threads_per_multiprocessor = 2048;
  /// For estimates: where the number is not known, more than any GPU has, which takes more memory.
  [[nodiscard]] int assumed_multiprocessors() const {
    constexpr int kMoreThanAny = 192;
    return multiprocessors.value_or(kMoreThanAny);
  }
  /// cuBLAS's, one for each thread that multiplies matrices (at::cuda::getChosenWorkspaceSize).
  std::int64_t cublas_workspace_bytes = 0;
  /// cuBLASLt's, likewise; linear layers with bias use it (CUBLASLT_WORKSPACE_SIZE's default).
  std::int64_t cublaslt_workspace_bytes = 0;
  /// Whether backward runs on a thread of its own, with library handles of its own: autograd's
  /// does, a replay's does not.
  bool backward_has_thread = true;
  /// cuDNN's dropout keeps a generator of 24 bytes for every thread that the GPU can hold
  /// (measured: 6,488,064 bytes on an H200).
  [[nodiscard]] std::int64_t cudnn_dropout_state_bytes() const {
    constexpr std::int64_t kGeneratorBytes = 24;
    return kGeneratorBytes * assumed_multiprocessors() * threads_per_multiprocessor;
  }
  /// What a step with autograd takes of the device beside what the allocator reserves: context,
  /// modules, libraries. Measured, the same for ten models after three steps
  /// (LibTorch 2.11.0+cu130, H200, driver 580.159); nullopt where nobody measured it.
  std::optional<std::int64_t> autograd_overhead_bytes;
  /// How much of that the libraries take for the thread of backward: measured, 64 to 72 MiB in six
  /// models, replayed on the same machine.
  std::int64_t backward_thread_bytes = 0;
  [[nodiscard]] std::optional<std::int64_t> process_overhead_bytes() const {
    if (!autograd_overhead_bytes || backward_has_thread) return autograd_overhead_bytes;
    return *autograd_overhead_bytes - backward_thread_bytes;
  }
  /// What NCCL takes in each process of a group of `gpus`, one process a GPU: kernels, buffers,
  /// connections, after all-reduce, all-gather, reduce-scatter and broadcast. Nothing for one GPU;
  /// measured for two (tests/accuracy/nccl_memory.py); nullopt where nobody measured.
  [[nodiscard]] std::optional<std::int64_t> nccl_bytes(std::int64_t gpus) const {
    if (gpus <= 1) return 0;
    return gpus == 2 ? nccl_of_two_bytes : std::nullopt;
  }
  std::optional<std::int64_t> nccl_of_two_bytes;
};

/// Of the GPUs of this compute capability. What nobody knows of them is absent, not an H200's.
[[nodiscard]] CudaTraits cuda_traits(const program::Target& target);

}  // namespace elixir::operators
