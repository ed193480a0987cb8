// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/cuda_traits.h"

#include "core/units.h"

namespace elixir::operators {

namespace {

/// Source: CUDA C++ Programming Guide, technical specifications per compute capability.
int threads_per_multiprocessor(int sm) {
  constexpr int kTuring = 75;
  constexpr int kBlackwellOfGraphics = 120;
  const bool graphics = sm == 86 || sm == 87 || sm == 88 || sm == 89 || sm >= kBlackwellOfGraphics;
  if (sm <= kTuring) return 1024;
  return graphics ? 1536 : 2048;
}

}  // namespace

CudaTraits cuda_traits(const program::Target& target) {
  constexpr int kHopper = 90;
  constexpr int kAmpere = 80;
  constexpr int kAda = 89;
  CudaTraits traits;
  traits.threads_per_multiprocessor = threads_per_multiprocessor(target.sm);
  // LibTorch 2.11: 4096 * 8 KiB on compute capability 9.0, ":4096:2:16:8" on all others.
  traits.cublas_workspace_bytes = target.sm == kHopper ? 32_MiB : 8_MiB + 128_KiB;
  traits.cublaslt_workspace_bytes = 1_MiB;
  if (target.sm == kHopper) {
    traits.recorded = true;
    traits.multiprocessors = 132;  // H100 SXM, H200
    traits.autograd_overhead_bytes = 804'061'184;
    traits.backward_thread_bytes = 72_MiB;
    traits.nccl_of_group_bytes = 842_MiB;  // NCCL 2.28.9, NVLink
  }
  if (target.sm == kAmpere) traits.multiprocessors = 108;  // A100
  if (target.sm == kAda) traits.multiprocessors = 128;     // RTX 4090
  return traits;
}

}  // namespace elixir::operators
