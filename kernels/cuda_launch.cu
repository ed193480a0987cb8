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

int multiprocessors() {
  int device = 0, count = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    return kAssumedMultiprocessors;  // the launch itself reports what is wrong
  }
  return count;
}

}  // namespace

void check_launch(const char* kernel) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(kernel) + ": " + cudaGetErrorString(error));
  }
}

int resident_blocks(const void* kernel) {
  int blocks = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, kThreads, 0) != cudaSuccess) {
    blocks = kBlocksPerMultiprocessor;  // the launch itself reports what is wrong
  }
  return std::max(blocks, 1) * multiprocessors();
}

int blocks_for(std::size_t threads, int resident) {
  const std::size_t wanted = (threads + kThreads - 1) / kThreads;
  return static_cast<int>(
      std::max<std::size_t>(1, std::min(wanted, static_cast<std::size_t>(resident))));
}

int grid_blocks(std::size_t items) {
  return blocks_for(items, multiprocessors() * kBlocksPerMultiprocessor);
}

}  // namespace elixir::kernels::cuda
