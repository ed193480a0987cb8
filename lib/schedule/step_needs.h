// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the operators and chunks of one micro-batch need, found before any task is made: which
// gradients are complete after a call, and which chunks no later call reads. Most of it is the same
// under every plan, so that a search finds it once.

#include <compare>
#include <cstdint>
#include <vector>

#include "operators/own.h"
#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::schedule {

/// The same under every plan.
struct ProgramNeeds {
  bool training = true;
  /// By operator: whether it is executed, and in a phase that runs.
  std::vector<bool> executed, runs;
  /// By operator that runs: it uses parameters, completes or ends gradients, makes the
  /// loss, or begins or ends a copy of an activation. Only
  /// around these operators can a plan need more than the next operator.
  std::vector<bool> stops;
  std::vector<program::OperatorId> readers;  ///< that run and use parameters, ascending
  /// By operator: parameters whose gradient it completes.
  std::vector<std::vector<std::int32_t>> gradients_ready;
  std::vector<bool> ends_gradients;  ///< by operator: no later call reads some gradients' storage
  std::vector<int> gradients_in;     ///< by storage: number of parameters whose gradient it is
  std::vector<std::int64_t> gradient_elements;  ///< by parameter; 0 without a gradient
  /// By parameter: one matrix product makes the gradient, in a storage of its own that nothing else
  /// touches. So it can be made to write elsewhere.
  std::vector<bool> gradient_is_product;
  /// Storages that no operator releases: gradients, the loss, and without training whatever
  /// backward would have used. Ascending.
  std::vector<program::StorageId> left_over;
  program::OperatorId loss_ready = -1;
  program::OperatorId inputs_last_read = -1;
  /// The first and the last operator that uses one of the module's buffers which the step changes;
  /// -1: it changes none.
  program::OperatorId buffers_first_use = -1, buffers_last_use = -1;
  std::vector<operators::Movement> movements;  ///< by operator; none without training
};

/// With `training` false, only the forward phase runs and nothing is trained.
[[nodiscard]] ProgramNeeds program_needs(const program::Program& program,
                                         const program::Lifetimes& lifetimes,
                                         bool training);

struct ChunkNeeds {
  bool trained = false;
  int gradients = 0;  ///< number of parameters with a gradient
  program::OperatorId first_use = -1, last_use = -1;
};

struct StepNeeds {
  std::vector<ChunkNeeds> chunks;
  /// Chunks by the last operator that uses them, both ascending; without chunks that no operator
  /// uses.
  struct LastUse {
    program::OperatorId op = -1;
    std::int32_t chunk = -1;
    // clang-tidy 14 takes the 0 that this compares with for a pointer.
    auto operator<=>(const LastUse&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  std::vector<LastUse> last_uses;
};

/// `places`: where the plan puts its parameters.
[[nodiscard]] StepNeeds step_needs(const program::Program& program,
                                   const program::Lifetimes& lifetimes,
                                   const ProgramNeeds& needs,
                                   const plan::Plan& plan,
                                   const std::vector<plan::Place>& places);

}  // namespace elixir::schedule
