// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Memory of a real training step on this machine's GPU: every request to LibTorch's allocator and
// the peaks, to hold against a prediction. Each call should have a process of its own: what
// libraries and the allocator keep is counted in.

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
  /// Of the whole GPU at the end, whoever took it.
  std::int64_t used_bytes = 0;
  std::vector<memory::RecordedEvent> events;  ///< requests and releases alone
};

/// `steps` steps of forward and backward with LibTorch's autograd; before the first the fp32
/// masters that `optimizer` needs, after its backward the moments; the update itself is left out,
/// because Elixir's asks for no memory. Gradients are set to none after each step. `program` is the
/// model's, captured for this GPU. kNoGpu, kWrongMachineKind, kOutOfMemory.
[[nodiscard]] MeasuredMemory measure_autograd(const capture::Model& model,
                                              const capture::Options& options,
                                              const program::Program& program,
                                              program::Optimizer optimizer,
                                              int steps);

/// The same by replaying the program as the trainer does, all of it on the GPU.
[[nodiscard]] MeasuredMemory measure_replay(const capture::Captured& captured,
                                            program::Optimizer optimizer,
                                            int steps);

}  // namespace elixir::runtime
