// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Measures the memory of a real training step on this machine's GPU: every request to LibTorch's
// allocator, and the peaks. Tests compare it with predictions. Run each call in its own process,
// because memory that libraries and the allocator keep is counted.

#include <cstdint>
#include <string>
#include <vector>

#include "capture/capture.h"
#include "memory/recorded/trace.h"
#include "program/program.h"

namespace elixir::runtime {

struct MeasuredMemory {
  std::string device;
  std::int64_t peak_allocated_bytes = 0;
  std::int64_t peak_reserved_bytes = 0;
  /// Memory in use on the whole GPU at the end, other processes included.
  std::int64_t used_bytes = 0;
  std::vector<memory::RecordedEvent> events;  ///< only requests and releases
};

/// Runs `steps` steps of forward and backward with LibTorch's autograd. Allocates the fp32 masters
/// that `optimizer` needs before the first step, and the moments after its backward. Skips the
/// update, because Elixir's update requests no memory. Sets gradients to none after each step.
/// `program` must be captured from the model for this GPU. Throws kNoGpu, kWrongMachineKind,
/// kOutOfMemory.
[[nodiscard]] MeasuredMemory measure_autograd(const capture::Model& model,
                                              const capture::Options& options,
                                              const program::Program& program,
                                              program::Optimizer optimizer,
                                              int steps);

/// Same, but replays the program as the trainer does, with everything on the GPU.
[[nodiscard]] MeasuredMemory measure_replay(const capture::Captured& captured,
                                            program::Optimizer optimizer,
                                            int steps);

}  // namespace elixir::runtime
