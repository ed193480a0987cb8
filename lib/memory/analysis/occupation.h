// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The four numbers of the Python Elixir's `cuda_memory_profiling`, which were the input of its
// search. For comparison with it. They describe a step without optimizer state whose gradients
// leave the device as soon as they are final. They count elements, without the allocator's
// rounding.

#include <cstdint>

#include "program/program.h"

namespace elixir::memory {

struct Occupation {
  std::int64_t param_occ = 0;   ///< elements times element size, tied parameters once
  std::int64_t buffer_occ = 0;  ///< the same of the buffers
  std::int64_t grad_occ = 0;    ///< the same of the parameters that get a gradient
  /// The most bytes (rounded as the allocator does) beyond parameters, buffers and inputs while an
  /// operator runs. Each gradient counts from its allocation until it is final.
  std::int64_t activation_occ = 0;
};

[[nodiscard]] Occupation occupation(const program::Program& program);

}  // namespace elixir::memory
