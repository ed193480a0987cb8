// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What LibTorch's caching allocator reserves on a CUDA device for the operators of a schedule: their
// results and scratch memory, asked for and released in issue order, through the simulated
// allocator, step after step until a step changes nothing. Buffers are not in it: each slab of them
// is allocated past that allocator. A plan fits when its buffers and this fit; a schedule's peak of
// allocated bytes does not say that, because free memory between blocks cannot always be used.

#include <cstdint>
#include <vector>

#include "memory/step/training_events.h"
#include "operators/scratch/call_script.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// Scripts of a program's calls as a replay makes them, on one thread; for CUDA targets.
[[nodiscard]] std::vector<operators::CallScript> replay_scripts(const program::Program& program);

/// Requests and releases of `steps` runs of the schedule. Libraries' lasting workspaces come with
/// the first.
[[nodiscard]] memory::TrainingEvents operator_events(
    const Schedule& schedule,
    const program::Program& program,
    const program::Lifetimes& lifetimes,
    const std::vector<operators::CallScript>& scripts,
    int steps);

struct OperatorMemory {
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;
  bool settled = false;  ///< the last simulated step asked nothing of the device
};
/// With the allocator's default configuration and no limit: under a limit it gives back what it
/// keeps for later before it fails, so that it never needs more.
[[nodiscard]] OperatorMemory operator_memory(const memory::TrainingEvents& events);

}  // namespace elixir::schedule
