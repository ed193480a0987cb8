// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "kernels/cuda_launch.h"

#include <algorithm>
#include <string>

#include "kernels/launch_failure.h"

namespace elixir::kernels::cuda {
void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw LaunchFailure(std::string(kernel) + ": " + cudaGetErrorString(error));
  }
}

unsigned blocks_for(std::size_t threads, int block_threads) {
  constexpr std::size_t kMostBlocks = 0x7FFFFFFF;
  const auto block = static_cast<std::size_t>(block_threads);
  return static_cast<unsigned>(
      std::clamp<std::size_t>((threads + block - 1) / block, 1, kMostBlocks));
}

}  // namespace elixir::kernels::cuda
