// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory of one training step (the second or a later one) on its target, as exactly as possible.
// For CUDA, every request, scratch memory included, goes through the simulated caching allocator.
// For other targets only the program's tensors count. All reports take their figures from here.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator/config.h"
#include "memory/step/placement.h"
#include "memory/step/timeline.h"
#include "memory/step/training_events.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"
#include "program/program.h"

namespace elixir::memory {

struct TrainingStep {
  /// Peaks over all simulated steps, including the first, and how certain they are.
  program::MemorySummary memory;
  /// In the allocator's blocks, of the step that has the peak. It is the last step, unless an
  /// earlier one holds more, because the allocator leaves other blocks unsplit.
  Timeline timeline;
  TrainingEvents events;  ///< what `placed` refers to
  std::vector<PlacedEvent> placed;
  bool with_scratch = false;               ///< includes scratch memory of kernels and libraries
  std::int64_t gpus = 1;                   ///< that train together
  bool process_was_measured = false;       ///< on a GPU of the target's kind
  std::optional<std::int64_t> nccl_bytes;  ///< included in process memory; nullopt: unknown
};

/// `table`, `config` and `gpus` apply to CUDA targets only. With several GPUs there is one process
/// per GPU, and NCCL's memory is part of process memory. Where NCCL's memory is unknown, so is
/// process memory. Throws kConflictingFlags for an update that torch.optim cannot run.
[[nodiscard]] TrainingStep predict_step(const program::Program& program,
                                        program::OptimizerUse use,
                                        const operators::WorkspaceTable& table,
                                        const AllocatorConfig& config,
                                        std::int64_t gpus = 1);

/// The timeline of a placed step. `placed` must be of `program` and refer to `events`.
[[nodiscard]] Timeline timeline_of(const program::Program& program,
                                   const TrainingEvents& events,
                                   const std::vector<PlacedEvent>& placed);

}  // namespace elixir::memory
