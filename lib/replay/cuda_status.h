// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Turns CUDA's status into an Error. Only builds with CUDA have it.

#include <cuda_runtime_api.h>

#include <optional>
#include <string>

namespace elixir::replay {

/// Throws kOutOfMemory or kDeviceFailure, with `what` and CUDA's message, and clears CUDA's last
/// error.
void check_cuda(cudaError_t status, const char* what);

/// Why this machine has no GPU to use; nullopt when it has one. Clears CUDA's last error.
[[nodiscard]] std::optional<std::string> why_no_gpu();

}  // namespace elixir::replay
