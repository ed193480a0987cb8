// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// GPU memory of training under LibTorch's caching allocator. Runs every request of
// `training_events.h`, in order and on one stream, through the simulated allocator. Repeats steps
// until a step changes nothing on the device.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "memory/allocator/caching_allocator.h"
#include "memory/step/training_events.h"
#include "operators/scratch/workspace_table.h"
#include "program/program.h"

namespace elixir::memory {

/// Limit on the number of steps, because fragmentation can grow for ever.
inline constexpr int kMostSimulatedSteps = 5;

struct StepMemory {
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;  ///< within the step
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;            ///< at its end
  std::int64_t device_calls = 0;  ///< segments and pages allocated and freed
};

/// The first request that did not fit. The simulation stops there.
struct Shortage {
  int step = 0;                 ///< from 1; 0 before the first
  program::OperatorId at = -1;  ///< as TrainingEvent::at
  OutOfMemory answer;
};

struct TrainingMemory {
  std::int64_t peak_allocated_bytes = 0;  ///< blocks, as torch.cuda.max_memory_allocated
  std::int64_t peak_reserved_bytes = 0;   ///< segments, as torch.cuda.max_memory_reserved
  std::vector<StepMemory> steps;
  bool settled = false;  ///< the last step changed nothing on the device
  std::optional<Shortage> shortage;
  std::vector<SegmentInfo> segments;  ///< after the last step
};

/// Callbacks of a simulation. Empty functions are not called.
struct TrainingWatch {
  std::function<void()> step_begins;  ///< repeated steps too
  /// After each request that was satisfied, and after each release, with its block. `Address` is as
  /// in DeviceMemory.
  std::function<void(const TrainingEvent&, Address, std::int64_t block_bytes)> event;
  /// Called before the event that causes the change.
  std::function<void(const DeviceEvent&)> device;
};

/// Runs all steps of `events`. Then repeats the last step, if it is the second or later, until it
/// settles.
[[nodiscard]] TrainingMemory simulate_training(const TrainingEvents& events,
                                               const AllocatorConfig& config,
                                               const DeviceLimits& limits,
                                               const TrainingWatch& watch = {});

/// Same for a program with a CUDA target; makes the scripts of its calls.
[[nodiscard]] TrainingMemory predict_training(const program::Program& program,
                                              program::OptimizerUse use,
                                              const operators::WorkspaceTable& table,
                                              const AllocatorConfig& config,
                                              const DeviceLimits& limits);

/// A device without a limit: shows what training uses when memory is not short.
[[nodiscard]] DeviceLimits unlimited_device();

}  // namespace elixir::memory
