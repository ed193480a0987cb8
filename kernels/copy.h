// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Plain copies by several threads: what "host to device" is on the CPU device.

#include <cstddef>

#include "kernels/thread_pool.h"

namespace elixir::kernels {

/// The ranges do not overlap.
void copy_cpu(void* to, const void* from, std::size_t bytes, ThreadPool& pool);

}  // namespace elixir::kernels
