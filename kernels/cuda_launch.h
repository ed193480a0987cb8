// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Launch geometry and checks that the CUDA launchers share. A failed launch throws
// std::runtime_error.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/adam.h"

namespace elixir::kernels::cuda {

inline constexpr int kThreads = 256;

/// Throws what `kernel` was refused with.
void check_launch(const char* kernel);

/// Blocks of `kernel` that the current device can run at once.
[[nodiscard]] int resident_blocks(const void* kernel);
/// Blocks for `threads` threads, at most `resident`: what does not fit at once strides.
[[nodiscard]] int blocks_for(std::size_t threads, int resident);

/// Blocks of a grid-stride kernel for `items`: at most eight per multiprocessor of the current
/// device.
[[nodiscard]] int grid_blocks(std::size_t items);

[[nodiscard]] inline bool aligned_for_four(const void* array, Element type) {
  const std::uintptr_t bytes = type == Element::kFloat32 ? 16 : 8;
  return reinterpret_cast<std::uintptr_t>(array) % bytes == 0;
}

}  // namespace elixir::kernels::cuda
