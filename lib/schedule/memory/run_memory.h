// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Peak memory of a training run, evaluation between steps included, in the units of the plan's
// budgets. It lets the trainer refuse a run that cannot fit before it starts. On the CPU device it
// is exact where operators' workspaces were measured. On CUDA it is what LibTorch's allocator
// reserves (operator_memory.h) plus the process memory outside of it, as given in the plan.

#include <cstdint>

#include "hardware/operator_cost.h"
#include "plan/plan.h"
#include "program/program.h"
#include "schedule/memory/evaluation.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

struct RunMemory {
  std::int64_t training_gpu_bytes = 0;  ///< counts against --gpu-memory; with evaluation's buffers
  std::int64_t evaluation_gpu_bytes = 0;  ///< same, during evaluation; 0 without evaluation
  std::int64_t host_bytes = 0;            ///< counts against --host-memory
  EvaluationMemory evaluation;            ///< zeros without evaluation
};

enum class Workspaces : std::uint8_t { kOfHardware, kNotCounted };

/// `training` is the lowered plan, and `training_peak_bytes` its predicted device peak.
/// `evaluation` is the forward-only program, or nullptr. On the CPU device, evaluation's workspaces
/// are what `cost` measured. The result is a lower bound if some were not measured, or on a machine
/// other than the plan's.
[[nodiscard]] RunMemory run_memory(const plan::Plan& plan,
                                   const program::Program& program,
                                   const Schedule& training,
                                   std::int64_t training_peak_bytes,
                                   const program::Program* evaluation,
                                   const hardware::CostModel& cost,
                                   Workspaces workspaces);

}  // namespace elixir::schedule
