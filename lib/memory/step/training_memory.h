// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What training takes of a GPU when LibTorch's caching allocator serves it: every request of
// `training_events.h`, in order and on one stream, through the simulated allocator, step after step
// until a step changes nothing on the device any more.

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

/// Steps are repeated at most up to this number: fragmentation can creep for ever.
inline constexpr int kMostSimulatedSteps = 5;

struct StepMemory {
  std::int64_t peak_allocated_bytes = 0, peak_reserved_bytes = 0;  ///< within the step
  std::int64_t allocated_bytes = 0, reserved_bytes = 0;            ///< at its end
  std::int64_t device_calls = 0;  ///< segments and pages taken and given back
};

/// The first request that found no memory; the simulation ends there.
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
  /// Calls whose scratch memory is an estimate: first of them and how many. predict_training alone.
  std::optional<program::OperatorId> first_modelled;
  int modelled_calls = 0;
};

/// Who watches a simulation. Empty functions are not called.
struct TrainingWatch {
  std::function<void()> step_begins;  ///< a repeated one too
  /// A request that was answered, or a release, with its block. `Address` as DeviceMemory gives it.
  std::function<void(const TrainingEvent&, Address, std::int64_t block_bytes)> event;
  /// Comes before the event that causes it.
  std::function<void(const DeviceEvent&)> device;
};

/// Runs all steps of `events`, then the last one again, from the second step on, until it is
/// settled.
[[nodiscard]] TrainingMemory simulate_training(const TrainingEvents& events,
                                               const AllocatorConfig& config,
                                               const DeviceLimits& limits,
                                               const TrainingWatch& watch = {});

/// The same for a program whose target is CUDA, with the scripts of its calls.
[[nodiscard]] TrainingMemory predict_training(const program::Program& program,
                                              program::Optimizer optimizer,
                                              const operators::WorkspaceTable& table,
                                              const AllocatorConfig& config,
                                              const DeviceLimits& limits);

/// A device without end: what training takes where nothing is short.
[[nodiscard]] DeviceLimits unlimited_device();

}  // namespace elixir::memory
