// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What one training step takes on its target, from the second step on, as exactly as is known: for
// CUDA every request, scratch memory included, through the simulated caching allocator; elsewhere
// the program's tensors. Everything that reports show comes from here.

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
  /// Peaks over all simulated steps, from the first on; the timeline's is that of the last.
  program::MemorySummary memory;
  Timeline timeline;      ///< in the allocator's blocks
  TrainingEvents events;  ///< what `placed` refers to
  std::vector<PlacedEvent> placed;
  bool recorded = true;             ///< runs on such a device were compared with predictions
  bool with_scratch = false;        ///< kernels' and libraries' scratch memory is part of it
  std::int64_t measured_calls = 0;  ///< whose scratch memory was measured on a device
  std::int64_t modelled_calls = 0;  ///< whose scratch memory is an estimate
  std::optional<program::OperatorId> first_modelled;
  std::int64_t gpus = 1;                   ///< that train together
  std::optional<std::int64_t> nccl_bytes;  ///< part of the process's; nullopt: not known
};

/// `table`, `config` and `gpus` are for CUDA targets. With several GPUs, one process each, NCCL's
/// memory is part of the process's; where it is not known, neither is the process's.
[[nodiscard]] TrainingStep predict_step(const program::Program& program,
                                        program::Optimizer optimizer,
                                        const operators::WorkspaceTable& table,
                                        const AllocatorConfig& config,
                                        std::int64_t gpus = 1);

/// The timeline of a placed step; `placed` is of `program` and refers to `events`.
[[nodiscard]] Timeline timeline_of(const program::Program& program,
                                   const TrainingEvents& events,
                                   const std::vector<PlacedEvent>& placed);

}  // namespace elixir::memory
