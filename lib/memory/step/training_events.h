// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// All requests of training with LibTorch's autograd to the CUDA allocator, in order, over several
// steps. This is the input for a simulated allocator.
//
// First come parameters, buffers, inputs, fp32 masters and the sums of Adagrad. Each step then has
// its calls' outputs and scratch memory (`call_script.h`), what clips gradients, the optimizer's
// moments after the first backward pass, the temporaries of its update (`optimizer_update.h`), and
// the release of loss and gradients (set to none). The first step allocates what stays, so all
// steps from the second on are alike.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/step/optimizer_state.h"
#include "operators/scratch/call_script.h"
#include "program/program.h"

namespace elixir::memory {

struct TrainingAllocation {
  std::int64_t bytes = 0;  ///< as requested, > 0
  program::Category category = program::Category::kTemporary;
  bool scratch =
      false;  ///< of a kernel, a library or the optimizer's update, not a tensor of the program
  program::StorageId storage = -1;  ///< -1 for scratch and optimizer state
  std::int32_t parameter = -1;      ///< for optimizer state: its parameter; otherwise -1
  OptimizerPart part = OptimizerPart::kMaster;      ///< of the optimizer state
  program::DType dtype = program::DType::kFloat32;  ///< of the optimizer state
  program::OperatorId at = -1;  ///< as TrainingEvent::at; -1 before the first step
  int step = 0;                 ///< from 1; 0 before the first
};

struct TrainingEvent {
  bool frees = false;
  std::int32_t allocation = -1;  ///< position in TrainingEvents::allocations
  program::OperatorId at = -1;   ///< the running call; operators.size() after backward
};

struct TrainingEvents {
  std::vector<TrainingAllocation> allocations;
  std::vector<TrainingEvent> events;
  std::vector<std::size_t> step_ends;  ///< number of events up to the end of each step
};

/// `scripts` has one entry per operator.
[[nodiscard]] TrainingEvents training_events(const program::Program& program,
                                             program::OptimizerUse use,
                                             const std::vector<operators::CallScript>& scripts,
                                             int steps);

}  // namespace elixir::memory
