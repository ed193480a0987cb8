// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tests/gpu/spin.h"

#include <stdexcept>

#include <cuda_runtime_api.h>

namespace elixir::test {
namespace {

__device__ unsigned long long nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(unsigned long long duration_ns, std::uint32_t* out, std::uint32_t value) {
  const unsigned long long start = nanoseconds();
  while (nanoseconds() - start < duration_ns) {
  }
  if (out != nullptr) *out = value;
}

}  // namespace

void spin_cuda(std::int64_t duration_ns,
               std::uint32_t* out,
               std::uint32_t value,
               CUstream_st* stream) {
  spin<<<1, 1, 0, stream>>>(static_cast<unsigned long long>(duration_ns), out, value);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
    throw std::runtime_error(cudaGetErrorString(status));
  }
}

}  // namespace elixir::test
