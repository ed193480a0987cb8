// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/cuda_launch.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace elixir::kernels::cuda {
namespace {

constexpr int kBlocksPerMultiprocessor = 8;
constexpr int kAssumedMultiprocessors = 128;

}  // namespace

void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(error));
  }
}

int grid_blocks(std::size_t items) {
  int device = 0, multiprocessors = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) !=
          cudaSuccess) {
    multiprocessors = kAssumedMultiprocessors;  // the launch itself reports what is wrong
  }
  const std::size_t wanted = (items + kThreads - 1) / kThreads;
  const std::size_t most = static_cast<std::size_t>(multiprocessors) * kBlocksPerMultiprocessor;
  return static_cast<int>(std::max<std::size_t>(1, std::min(wanted, most)));
}

}  // namespace elixir::kernels::cuda
