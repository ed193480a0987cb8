// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory that LibTorch's caching allocator reserves on a CUDA device for the operators of a
// schedule. The requests and releases of their results and scratch memory go through the simulated
// allocator in issue order. Steps repeat until one changes nothing.
//
// Buffers are not included: their slabs are allocated outside that allocator. A plan fits when its
// buffers and this memory fit. The schedule's peak of allocated bytes is not enough to decide that,
// because free memory between blocks cannot always be used.

#include <cstdint>
#include <vector>

#include "memory/step/training_events.h"
#include "operators/scratch/call_script.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// The scripts of a program's calls in a replay, which runs on one thread. For CUDA targets.
[[nodiscard]] std::vector<operators::CallScript> replay_scripts(const program::Program& program);

/// Device memory that libraries keep for the process of a replay, such as cuBLAS's workspaces: the
/// persistent steps of replay_scripts(). 0 on the CPU.
[[nodiscard]] std::int64_t library_bytes(const program::Program& program);

/// The requests and releases of `steps` runs of the schedule. Persistent workspaces of libraries
/// come with the first run.
[[nodiscard]] memory::TrainingEvents operator_events(
    const Schedule& schedule,
    const program::Program& program,
    const program::Lifetimes& lifetimes,
    const std::vector<operators::CallScript>& scripts,
    int steps);

struct OperatorMemory {
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;
  bool settled = false;  ///< the last simulated step changed nothing on the device
};
/// Uses the allocator's default configuration and no limit. A limit would not need more: before it
/// fails, the allocator releases cached memory.
[[nodiscard]] OperatorMemory operator_memory(const memory::TrainingEvents& events);

}  // namespace elixir::schedule
