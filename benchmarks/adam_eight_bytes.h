// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The GPU's AdamW with eight instead of sixteen bytes per lane and access to 16-bit arrays, for
// comparison. bf16 gradients, fp32 moments, separate or split. Arrays must be aligned to 16 bytes.

#include "kernels/adam.h"
#include "kernels/cuda_kernels.h"

namespace elixir::benchmarks {

void adam_cuda_eight_bytes(const kernels::AdamArrays& arrays,
                           const kernels::AdamScalars& scalars,
                           kernels::CudaStream stream);

}  // namespace elixir::benchmarks
