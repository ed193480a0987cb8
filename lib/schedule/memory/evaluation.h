// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory of evaluation between steps: a forward-only program that runs over the chunks of a
// training program. Decides which training buffers it reuses and how much memory it needs in
// addition. The trainer uses the same function, so the bytes counted here are the bytes it
// allocates.

#include <cstdint>
#include <vector>

#include "program/program.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

inline constexpr BufferId kOwnBuffer = -1;

/// For each buffer of `evaluation`: the training buffer it reuses, or kOwnBuffer. Module buffers
/// are matched by name, constants by content, all others by role, chunk and order, if the training
/// buffer is large enough. Throws kInternal for a module buffer that the training program does not
/// have.
[[nodiscard]] std::vector<BufferId> lend_buffers(const Schedule& training,
                                                 const program::Program& training_program,
                                                 const Schedule& evaluation,
                                                 const program::Program& evaluation_program);

struct EvaluationMemory {
  /// Buffers that evaluation allocates itself. They stay for the whole run, beside the training's
  /// buffers.
  std::int64_t own_device_bytes = 0, own_host_bytes = 0;
  /// Device peak during evaluation, including the training buffers.
  std::int64_t peak_device_bytes = 0;
};
/// `simulated_peak_bytes` is the device peak of `evaluation` alone (Simulation::device).
[[nodiscard]] EvaluationMemory evaluation_memory(const Schedule& training,
                                                 const Schedule& evaluation,
                                                 const std::vector<BufferId>& lent,
                                                 std::int64_t simulated_peak_bytes);

}  // namespace elixir::schedule
