// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A forward-only program that runs between steps over the chunks of a training program: which of the
// training schedule's buffers serve it, and what it takes beside them. The trainer lends by the same
// function, so that what is counted here is what it allocates.

#include <cstdint>
#include <vector>

#include "program/program.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

inline constexpr BufferId kOwnBuffer = -1;

/// By buffer of `evaluation`: the one of `training` that serves it, or kOwnBuffer. Module buffers go
/// by name, constants by content, the rest by role, chunk and order, where the training's is large
/// enough. kInternal for a module buffer that the training program does not have.
[[nodiscard]] std::vector<BufferId> lend_buffers(const Schedule& training,
                                                 const program::Program& training_program,
                                                 const Schedule& evaluation,
                                                 const program::Program& evaluation_program);

struct EvaluationMemory {
  /// Buffers of its own; they stay for the run, beside those of training.
  std::int64_t own_device_bytes = 0, own_host_bytes = 0;
  /// Device peak while it runs, the training's buffers counted.
  std::int64_t peak_device_bytes = 0;
};
/// `simulated_peak_bytes` is the device peak of `evaluation` alone (Simulation::device).
[[nodiscard]] EvaluationMemory evaluation_memory(const Schedule& training,
                                                 const Schedule& evaluation,
                                                 const std::vector<BufferId>& lent,
                                                 std::int64_t simulated_peak_bytes);

}  // namespace elixir::schedule
