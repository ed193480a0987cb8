// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a benchmark may use of the host.

#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "kernels/cpu_affinity.h"

namespace elixir::benchmarks {

/// At least 1.
inline int cpu_count() {
  return std::max(1, static_cast<int>(kernels::allowed_cpus().size()));
}

inline std::size_t free_memory_bytes() {
  const auto pages = static_cast<std::size_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES)));
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace elixir::benchmarks
