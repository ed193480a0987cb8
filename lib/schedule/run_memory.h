// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a training run takes where it takes most, evaluation between steps included, in the units of
// the plan's budgets; so that a run that cannot fit is refused before it starts. On the CPU device
// exact as far as operators' workspaces were measured; on CUDA what LibTorch's allocator reserves
// (operator_memory.h), and the process's memory outside of it as the plan has it.

#include <cstdint>

#include "hardware/operator_cost.h"
#include "plan/plan.h"
#include "program/program.h"
#include "schedule/evaluation.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

struct RunMemory {
  std::int64_t training_gpu_bytes = 0;    ///< of --gpu-memory, evaluation's own buffers counted
  std::int64_t evaluation_gpu_bytes = 0;  ///< likewise, while it evaluates; 0 without
  std::int64_t host_bytes = 0;            ///< of --host-memory
  EvaluationMemory evaluation;            ///< zeros without
};

enum class Workspaces : std::uint8_t { kOfHardware, kNotCounted };

/// `training` is the lowered plan and `training_peak_bytes` its predicted device peak; `evaluation`
/// is the forward-only program, nullptr without. On the CPU device the workspaces of evaluation are
/// those that `cost` measured; where some were not, or on a machine other than the plan's, the
/// answer is a lower bound.
[[nodiscard]] RunMemory run_memory(const plan::Plan& plan,
                                   const program::Program& program,
                                   const Schedule& training,
                                   std::int64_t training_peak_bytes,
                                   const program::Program* evaluation,
                                   const hardware::CostModel& cost,
                                   Workspaces workspaces);

}  // namespace elixir::schedule
