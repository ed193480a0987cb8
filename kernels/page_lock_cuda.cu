// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <cuda_runtime_api.h>

#include "kernels/cuda_kernels.h"

namespace elixir::kernels {
namespace {

bool lock(void* memory, std::size_t bytes, std::string& reason) {
  const cudaError_t status =
      cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (status == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // clears the error, so that later calls do not report it
  reason = cudaGetErrorString(status);
  return false;
}

void unlock(void* memory) {
  static_cast<void>(cudaHostUnregister(memory));
}

}  // namespace

const PageLock& cuda_page_lock() {
  static constexpr PageLock kLock = {&lock, &unlock};
  return kLock;
}

}  // namespace elixir::kernels
