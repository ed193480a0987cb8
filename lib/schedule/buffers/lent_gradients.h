// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Activations that wait where gradients come later. The gradients of a chunk that is updated on the
// device hold nothing from the update until backward writes them, nor does a block in which only
// that chunk's are collected for several ranks. Activations that backward reads before that can
// wait there, and not on the host: they take no memory of their own and no link.
//
// So it is where a step has one micro-batch and updates wait for the norm. Otherwise gradients stay
// while forward runs, or chunks take turns with a few buffers (shared_gradients.h).

#include <cstdint>
#include <map>
#include <vector>

#include "plan/plan.h"
#include "program/program.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// Places are bytes from the start of one device buffer, which has all gradients that lend theirs.
struct LentGradients {
  std::int64_t bytes = 0;  ///< of that buffer; 0: nothing is lent
  /// Where a chunk's gradients are, and its own gradient block; -1: elsewhere.
  std::vector<std::int64_t> of_chunk, block_of_chunk;
  /// Where an activation waits, by the storage of its copy (operators::kOffloadBegin). The others
  /// wait on the host.
  std::map<program::StorageId, std::int64_t> of_copy;
};

/// Takes as many activations as there is room for, in the order in which backward reads them: the
/// first ones would hardly have arrived from the host in time. `chunks`: StepNeeds::chunks.
[[nodiscard]] LentGradients lent_gradients(const program::Program& program,
                                           const plan::Plan& plan,
                                           const std::vector<plan::Place>& places,
                                           const ProgramNeeds& needs,
                                           const std::vector<ChunkNeeds>& chunks);

/// Bytes of the activations that wait in lent memory under `plan`.
[[nodiscard]] std::int64_t lent_bytes(const program::Program& program, const plan::Plan& plan);

/// Device memory that is lent if the chunk is trained: where its update reads gradients on the
/// device, nothing does afterwards.
[[nodiscard]] std::int64_t lendable_bytes(const plan::Plan& plan, const plan::Chunk& chunk);

}  // namespace elixir::schedule
