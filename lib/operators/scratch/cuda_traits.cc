// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/cuda_traits.h"

#include "core/units.h"

namespace elixir::operators {

CudaTraits cuda_traits(const program::Target& target) {
  constexpr int kHopper = 90;
  constexpr int kAmpere = 80;
  constexpr int kAda = 89;
  CudaTraits traits;
  // LibTorch 2.11: 4096 * 8 KiB on compute capability 9.0, ":4096:2:16:8" on all others.
  traits.cublas_workspace_bytes = target.sm == kHopper ? 32_MiB : 8_MiB + 128_KiB;
  traits.cublaslt_workspace_bytes = 1_MiB;
  if (target.sm == kHopper) {
    traits.autograd_overhead_bytes = 804'061'184;
    traits.backward_thread_bytes = 72_MiB;
    traits.nccl_of_two_bytes = 842_MiB;  // NCCL 2.28.9, NVLink
  }
  if (target.sm == kAmpere) traits.multiprocessors = 108;  // A100
  if (target.sm == kAda) {                                 // RTX 4090
    traits.multiprocessors = 128;
    traits.threads_per_multiprocessor = 1536;
  }
  return traits;
}

}  // namespace elixir::operators
