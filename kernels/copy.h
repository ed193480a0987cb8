// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Plain copies by several threads. On the CPU device they replace transfers from host to device.

#include <cstddef>

#include "kernels/thread_pool.h"

namespace elixir::kernels {

/// The ranges must not overlap.
void copy_cpu(void* to, const void* from, std::size_t bytes, ThreadPool& pool);

}  // namespace elixir::kernels
