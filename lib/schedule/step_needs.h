// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What operators and chunks of one micro-batch need, read off the program once before any task is
// made: which gradients are complete after a call, which chunks no later call reads.

#include <cstdint>
#include <vector>

#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::schedule {

/// What follows one operator.
struct OperatorNeeds {
  std::vector<std::int32_t> gradients_ready;            ///< parameters whose gradient is complete
  std::vector<program::StorageId> gradients_last_used;  ///< of gradients; no later call reads them
  std::vector<std::int32_t> chunks_last_used;           ///< no later call reads them
};

struct ChunkNeeds {
  bool trained = false;
  int gradients = 0;  ///< parameters that have one
  program::OperatorId first_use = -1, last_use = -1;
};

struct StepNeeds {
  bool training = true;
  std::vector<plan::Place> places;  ///< by parameter
  std::vector<ChunkNeeds> chunks;
  std::vector<OperatorNeeds> operators;
  std::vector<int> gradients_in;  ///< by storage: parameters whose gradient it is
  program::OperatorId loss_ready = -1;
  /// By operator: executed, and of a phase that runs.
  std::vector<bool> executed, runs;
};

/// `training` false: only the forward phase runs and nothing is trained. Throws kInconsistentPlan
/// when a parameter is in no chunk.
[[nodiscard]] StepNeeds step_needs(const program::Program& program,
                                   const program::Lifetimes& lifetimes,
                                   const plan::Plan& plan,
                                   bool training);

}  // namespace elixir::schedule
