// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// All buffers that a plan needs for the whole run. Lowering assigns them to tasks, and the search
// counts their bytes. The checker derives them again, independently.

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/schedule.h"

namespace elixir::schedule {

/// The buffers of one chunk; -1: not needed.
struct ChunkBuffers {
  BufferId parameters = -1;
  BufferId private_block = -1;
  BufferId gradients = -1;
  BufferId landing = -1;
  BufferId master = -1;  ///< may be the parameters themselves, where the plan says so
};

struct StepBuffers {
  std::vector<Buffer> all;  ///< by id
  std::vector<ChunkBuffers> of_chunk;
  std::vector<BufferId> blocks;  ///< of the cache
  /// Indexed by optimizer home (plan::Home). Gradients that live elsewhere wait here before the
  /// update, and updated parameters that live elsewhere wait here after it. Empty when there are
  /// none.
  std::array<std::vector<BufferId>, 2> gradient_staging, parameter_staging;
  std::vector<BufferId> update_pieces;  ///< empty when no optimizer state goes through the device
  BufferId gradient_sums = -1;          ///< -1: nothing is trained
};

/// The buffers that follow from the plan alone. `trained` says for each chunk whether it has
/// gradients and optimizer state. `micro_batches` is their number in a step.
[[nodiscard]] StepBuffers chunk_buffers(const plan::Plan& plan,
                                        const std::vector<bool>& trained,
                                        int micro_batches);
/// Adds the model's buffers, inputs and constants, which are on the device under every plan, and the
/// host's memory for activations that the program offloads.
void add_tensor_buffers(std::vector<Buffer>& buffers,
                        const program::Program& program,
                        const program::Lifetimes& lifetimes);

/// Adds the sums of squares of gradients, which every plan that trains has.
BufferId add_gradient_sums(std::vector<Buffer>& buffers, const program::Program& program);

/// What the buffers of one arena take, each as rounded_allocation() counts.
[[nodiscard]] std::int64_t buffer_bytes(const std::vector<Buffer>& buffers, Arena arena);

}  // namespace elixir::schedule
