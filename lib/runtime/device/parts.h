// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Static buffers side by side in one allocation.

#include <cstdint>
#include <vector>

#include "core/allocation_unit.h"

namespace elixir::runtime {

/// The size of an allocation that holds parts of these sizes, each rounded up by
/// rounded_allocation().
[[nodiscard]] inline std::int64_t bytes_of_parts(const std::vector<std::int64_t>& bytes) {
  std::int64_t total = 0;
  for (const std::int64_t part : bytes) total += rounded_allocation(part);
  return total;
}

/// Where each part begins, the first at `begin`.
[[nodiscard]] inline std::vector<void*> addresses_of_parts(char* begin,
                                                           const std::vector<std::int64_t>& bytes) {
  std::vector<void*> parts;
  for (const std::int64_t part : bytes) {
    parts.push_back(begin);
    begin += rounded_allocation(part);
  }
  return parts;
}

}  // namespace elixir::runtime
