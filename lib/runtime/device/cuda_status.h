// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What CUDA answers, as an Error. Only builds with CUDA have it.

#include <cuda_runtime_api.h>

namespace elixir::runtime {

/// Throws kOutOfMemory or kDeviceFailure, with `what` and what CUDA says, and clears CUDA's last
/// error.
void check_cuda(cudaError_t status, const char* what);

}  // namespace elixir::runtime
