// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Every buffer that a plan needs for the whole run, derived from the plan in one place: lowering
// gives them to tasks, the search counts their bytes. The checker derives them again on its own.

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// One chunk's own buffers; -1: it needs none of that kind.
struct ChunkBuffers {
  BufferId parameters = -1;
  BufferId private_block = -1;
  BufferId gradients = -1;
  BufferId landing = -1;
  BufferId master = -1;  ///< the parameters themselves where the plan says so
};

struct StepBuffers {
  std::vector<Buffer> all;  ///< by id
  std::vector<ChunkBuffers> of_chunk;
  std::vector<BufferId> blocks;  ///< of the cache
  /// By optimizer home, as plan::Home counts: where gradients wait, or updated parameters, that
  /// live elsewhere. Empty where none do.
  std::array<std::vector<BufferId>, 2> gradient_staging, parameter_staging;
};

[[nodiscard]] StepBuffers make_buffers(const program::Program& program,
                                       const program::Lifetimes& lifetimes,
                                       const plan::Plan& plan,
                                       const StepNeeds& needs);

/// What the buffers of one arena take, each rounded up to kAllocationRoundingBytes.
[[nodiscard]] std::int64_t bytes_in(const std::vector<Buffer>& buffers, Arena arena);

}  // namespace elixir::schedule
