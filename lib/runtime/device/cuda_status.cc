// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/device/cuda_status.h"

#include <fmt/format.h>

#include "core/error.h"

namespace elixir::runtime {

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw Error(
      status == cudaErrorMemoryAllocation ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailure,
      fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

}  // namespace elixir::runtime
