// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// All buffers that a plan needs for the whole run. Lowering assigns them to tasks, and the search
// counts their bytes. The checker derives them again, independently.

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/buffers/gradient_blocks.h"
#include "schedule/buffers/lent_gradients.h"
#include "schedule/buffers/shared_gradients.h"
#include "schedule/schedule.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// For sums over the ranks on their way to the host: one is filled while the other leaves.
inline constexpr int kReducedStagingBuffers = 2;

/// The number of landing buffers for gradients that are added up on the host. `landed_bytes`:
/// gradients of one micro-batch; `largest_bytes`: gradients of the largest chunk. Cores may add up
/// more slowly than gradients come, and catch up in the next forward pass: the buffers hold half of
/// a micro-batch's gradients for that. Sixteen are enough when chunks are small
/// (docs/measured/one-gpu.md).
[[nodiscard]] int landing_buffers(std::int64_t landed_bytes, std::int64_t largest_bytes);

/// The buffers of one chunk; -1: not needed.
struct ChunkBuffers {
  BufferId parameters = -1;
  BufferId private_block = -1;
  BufferId gradients = -1;
  BufferId master = -1;  ///< may be the parameters themselves, where the plan says so
  BufferId gradient_block = -1;
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
  std::vector<BufferId> landing;        ///< empty when no gradients are added up on the host
  /// What passes write, and what clipping reads; the same with one rank. -1: nothing is trained.
  BufferId rank_sums = -1, gradient_sums = -1;
  BufferId exchange = -1;  ///< -1: one rank, or nothing is trained
  BufferId lent = -1;      ///< has the gradients in whose memory activations wait; -1: none do
  std::vector<BufferId>
      reduced_staging;  ///< empty unless gradients of several ranks go to the host
};

/// The buffers that follow from the plan alone. `trained` says for each chunk whether it has
/// gradients and optimizer state. `micro_batches` is their number in a step. `blocks`, `shared` and
/// `lent` are what gradient_blocks(), shared_gradients() and lent_gradients() return.
[[nodiscard]] StepBuffers chunk_buffers(const plan::Plan& plan,
                                        const std::vector<bool>& trained,
                                        int micro_batches,
                                        const GradientBlocks& blocks,
                                        const SharedGradients& shared,
                                        const LentGradients& lent);
/// Adds the model's buffers, inputs and constants, which are on the device under every plan.
void add_tensor_buffers(std::vector<Buffer>& buffers,
                        const program::Program& program,
                        const program::Lifetimes& lifetimes);
/// Adds memory for the activations that the program offloads: on the host, or in the buffer
/// `lender`.
void add_offloaded_buffers(std::vector<Buffer>& buffers,
                           const program::Program& program,
                           const LentGradients& lent,
                           BufferId lender);

/// Where sums of squares of gradients are made, and where all ranks' are; the same with one rank.
struct SumsBuffers {
  BufferId of_rank = -1, of_all = -1;
};
/// Adds them, which every plan that trains has.
SumsBuffers add_gradient_sums(std::vector<Buffer>& buffers,
                              const program::Program& program,
                              int world);

/// What a GPU keeps in its own memory to reach `bytes` of locked host memory or of another GPU's:
/// eight bytes for each page of 4 KiB, whatever pages the host uses (docs/measured/two-gpus.md).
[[nodiscard]] std::int64_t page_table_bytes(std::int64_t bytes);

/// All buffers of a step. `places`: where the plan puts its parameters.
[[nodiscard]] StepBuffers step_buffers(const program::Program& program,
                                       const program::Lifetimes& lifetimes,
                                       const ProgramNeeds& program_needs,
                                       const plan::Plan& plan,
                                       const std::vector<plan::Place>& places,
                                       const StepNeeds& needs,
                                       int micro_batches);

/// What the buffers of one arena take, each as rounded_allocation() counts.
[[nodiscard]] std::int64_t buffer_bytes(const std::vector<Buffer>& buffers, Arena arena);

}  // namespace elixir::schedule
