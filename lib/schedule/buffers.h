// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Every buffer that a plan needs for the whole run, derived from the plan in one place: lowering
// gives them to tasks, the search counts their bytes. The checker derives them again on its own.

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

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

/// Buffers that follow from the plan alone. `trained` says of each chunk whether it has gradients and
/// optimizer state; `micro_batches` of a step.
[[nodiscard]] StepBuffers chunk_buffers(const plan::Plan& plan,
                                        const std::vector<bool>& trained,
                                        int micro_batches);
/// Adds the model's buffers, inputs and constants: on the device under every plan.
void add_tensor_buffers(std::vector<Buffer>& buffers,
                        const program::Program& program,
                        const program::Lifetimes& lifetimes);

/// What the buffers of one arena take, each as rounded_allocation() counts.
[[nodiscard]] std::int64_t buffer_bytes(const std::vector<Buffer>& buffers, Arena arena);

}  // namespace elixir::schedule
