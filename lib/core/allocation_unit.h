// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The unit in which memory of a device is counted: LibTorch's CUDA caching allocator gives blocks
// of multiples of 512 bytes (kMinBlockSize). Predictions, schedules and both devices of the
// runtime count every allocation rounded up to it, so that their sums can be compared.

#include <cstdint>

#include "core/units.h"

namespace elixir {

inline constexpr std::int64_t kAllocationUnitBytes = 512;

/// What an allocation of `bytes` counts.
constexpr std::int64_t rounded_allocation(std::int64_t bytes) {
  return round_up(bytes, kAllocationUnitBytes);
}

}  // namespace elixir
