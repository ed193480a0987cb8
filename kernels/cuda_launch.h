// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Launch geometry and checks that the CUDA launchers share.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/adam.h"

namespace elixir::kernels::cuda {

/// Of kernels that take four elements a thread. Blocks of 1,024 elements were the fastest of those
/// tried (512 to 4,096), whatever a thread takes.
inline constexpr int kThreads = 256;
/// Of kernels that take eight.
inline constexpr int kThreadsOfEight = 128;

/// Throws LaunchFailure with what `kernel` was refused with.
void check_launch(const char* kernel);

/// Blocks of `block_threads` for `threads` threads, at least one. As many as that takes: on an H200
/// blocks that come and go move memory faster than resident ones that stride, 4.18 TB/s against
/// 3.79 for AdamW. What a grid cannot hold strides.
[[nodiscard]] unsigned blocks_for(std::size_t threads, int block_threads = kThreads);

[[nodiscard]] inline bool aligned_for_four(const void* array, Element type) {
  const std::uintptr_t bytes = type == Element::kFloat32 ? 16 : 8;
  return reinterpret_cast<std::uintptr_t>(array) % bytes == 0;
}

}  // namespace elixir::kernels::cuda
