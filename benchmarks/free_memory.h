// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>

namespace elixir::benchmarks {

/// Of the host.
inline std::size_t free_memory_bytes() {
  const auto pages = static_cast<std::size_t>(std::max(0L, sysconf(_SC_AVPHYS_PAGES)));
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace elixir::benchmarks
