// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Without clipping, a chunk is updated as soon as its gradients are complete, and nobody reads them
// afterwards. So chunks take turns with a few buffers for gradients, in an order that the program
// alone decides. With clipping, or where micro-batches are added up at home, all gradients exist at
// once, and each chunk has a buffer of its own.

#include <array>
#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

struct SharedGradients {
  /// By home (plan::Home): how many buffers chunks share there.
  std::array<std::int32_t, 2> count{};
  std::vector<std::int32_t> of_chunk;  ///< which of its home's; -1: one of its own
};

/// Whether chunks share buffers for their gradients.
[[nodiscard]] bool shares_gradients(const plan::Plan& plan);

/// At each home there are as many buffers as are in use at once, and a few more, so that backward
/// goes on while earlier chunks are updated. `chunks`: StepNeeds::chunks.
[[nodiscard]] SharedGradients shared_gradients(const plan::Plan& plan,
                                               const std::vector<plan::Place>& places,
                                               const ProgramNeeds& needs,
                                               const std::vector<ChunkNeeds>& chunks);

}  // namespace elixir::schedule
