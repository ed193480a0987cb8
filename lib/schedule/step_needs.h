// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the operators and chunks of one micro-batch need. It is computed once from the program,
// before any task is made: which gradients are complete after a call, and which chunks no later
// call reads.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::schedule {

/// What is true after one operator.
struct OperatorNeeds {
  std::vector<std::int32_t> gradients_ready;  ///< parameters whose gradient is complete
  std::vector<program::StorageId>
      gradients_last_used;                     ///< gradients' storages that no later call reads
  std::vector<std::int32_t> chunks_last_used;  ///< chunks that no later call reads
};

struct ChunkNeeds {
  bool trained = false;
  int gradients = 0;  ///< number of parameters with a gradient
  program::OperatorId first_use = -1, last_use = -1;
};

struct StepNeeds {
  bool training = true;
  std::vector<plan::Place> places;  ///< by parameter
  std::vector<ChunkNeeds> chunks;
  std::vector<OperatorNeeds> operators;
  std::vector<int> gradients_in;  ///< by storage: number of parameters whose gradient it is
  program::OperatorId loss_ready = -1;
  /// By operator: whether it is executed, and in a phase that runs.
  std::vector<bool> executed, runs;
};

/// With `training` false, only the forward phase runs and nothing is trained. Throws
/// kInconsistentPlan when a parameter is in no chunk.
[[nodiscard]] StepNeeds step_needs(const program::Program& program,
                                   const program::Lifetimes& lifetimes,
                                   const plan::Plan& plan,
                                   bool training);

}  // namespace elixir::schedule
