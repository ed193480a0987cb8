// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory of each kind of operator, summed over its calls.

#include <cstdint>
#include <string>
#include <vector>

#include "memory/step/timeline.h"
#include "program/program.h"

namespace elixir::memory {

struct OperatorMemory {
  std::string name;  ///< "aten::addmm", overloads together
  std::int64_t calls = 0;
  std::int64_t made_bytes = 0;         ///< allocated by its calls, rounded up
  std::int64_t activations_bytes = 0;  ///< the part of it that is kept for backward
  std::int64_t peak_bytes = 0;         ///< most allocated on the device in total while one runs
  std::int64_t flops = 0;
};

/// Sorted by allocated bytes, most first, then by name.
[[nodiscard]] std::vector<OperatorMemory> operator_memory(const program::Program& program,
                                                          const Timeline& timeline);

}  // namespace elixir::memory
