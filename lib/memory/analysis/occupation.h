// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The four numbers of the Python Elixir's `cuda_memory_profiling`, for those who compare: what its
// search was given. They describe a step whose gradients leave the device as soon as they are
// final, without optimizer state, and count elements where the allocator would round.

#include <cstdint>

#include "program/program.h"

namespace elixir::memory {

struct Occupation {
  std::int64_t param_occ = 0;   ///< elements times element size, tied parameters once
  std::int64_t buffer_occ = 0;  ///< likewise
  std::int64_t grad_occ = 0;    ///< likewise, of parameters that get a gradient
  /// Most bytes (rounded, as the allocator counts) beyond parameters, buffers and inputs while an
  /// operator runs, each gradient counted from its making until it is final.
  std::int64_t activation_occ = 0;
};

[[nodiscard]] Occupation occupation(const program::Program& program);

}  // namespace elixir::memory
