// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Describes the machine on which this process runs.

#include <cstdint>

#include "hardware/hardware_profile.h"

namespace elixir::measure {

/// CPU model, CPUs that this process may use, `threads` as given, memory limit, topology.
[[nodiscard]] hardware::Machine describe_machine(int threads);

/// The minimum of physical memory and the limits of this process's control groups.
[[nodiscard]] std::int64_t host_memory_limit_bytes();

/// Bytes of this machine's last-level caches together; 0 when the system does not report it.
[[nodiscard]] std::int64_t last_level_cache_bytes();

}  // namespace elixir::measure
