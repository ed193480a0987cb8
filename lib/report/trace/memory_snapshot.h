// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A step's allocations as a memory snapshot of PyTorch: a file for https://pytorch.org/memory_viz
// and torch.cuda._memory_viz, as torch.cuda.memory._dump_snapshot() would write it on a GPU. What a
// snapshot of a run has no room for is there too: the category of each allocation, by which the
// viewer colours its timeline.
//
// The trace begins with what is there before the step, so that parameters and optimizer state bear
// their names. An allocation's first frame is {filename: module path, line: operator id, name:
// operator}, its second {filename: geometry, line: storage id, name: category}; scratch memory of
// kernels and libraries has the category "workspace". Times are positions in the trace.

#include <vector>

#include "core/files.h"
#include "memory/step/placement.h"
#include "memory/step/training_events.h"
#include "program/program.h"

namespace elixir::report {

/// `placed` is of `program` and refers to `events` (memory::TrainingStep has both). A block outside
/// every segment is a bug (kInternal).
void write_memory_snapshot(const program::Program& program,
                           const memory::TrainingEvents& events,
                           const std::vector<memory::PlacedEvent>& placed,
                           const Sink& sink);

}  // namespace elixir::report
