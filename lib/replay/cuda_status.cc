// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/cuda_status.h"

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::replay {

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw Error(
      status == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailure,
      fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

std::optional<std::string> why_no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count != 0) return std::nullopt;
  static_cast<void>(cudaGetLastError());
  return status == cudaSuccess ? "none found" : cudaGetErrorString(status);
}

}  // namespace elixir::replay
