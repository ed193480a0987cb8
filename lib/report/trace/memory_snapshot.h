// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Writes a step's allocations as a PyTorch memory snapshot, for https://pytorch.org/memory_viz and
// torch.cuda._memory_viz, in the format of torch.cuda.memory._dump_snapshot(). In addition to a
// snapshot of a real run, it has the category of each allocation, by which the viewer colours its
// timeline.
//
// The trace begins with the memory that exists before the step, so that parameters and optimizer
// state have names. An allocation's first frame is {filename: module path, line: operator id, name:
// operator}, its second {filename: geometry, line: storage id, name: category}. Scratch memory of
// kernels and libraries has the category "workspace". Times are positions in the trace.

#include <vector>

#include "core/files.h"
#include "memory/step/placement.h"
#include "memory/step/training_events.h"
#include "program/program.h"

namespace elixir::report {

/// `placed` must be of `program` and refer to `events` (memory::TrainingStep has both). A block
/// outside every segment is a bug (kInternal).
void write_memory_snapshot(const program::Program& program,
                           const memory::TrainingEvents& events,
                           const std::vector<memory::PlacedEvent>& placed,
                           const Sink& sink);

}  // namespace elixir::report
