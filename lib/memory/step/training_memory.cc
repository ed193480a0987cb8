// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_memory.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "core/units.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/cuda_traits.h"

namespace elixir::memory {
namespace {

class Simulation {
 public:
  Simulation(const TrainingEvents& events,
             const AllocatorConfig& config,
             const DeviceLimits& limits,
             const TrainingWatch& watch)
      : events_(events),
        watch_(watch),
        allocator_(config, limits),
        blocks_(events.allocations.size()) {
    allocator_.on_device_event([this](const DeviceEvent& event) {
      ++device_calls_;
      if (watch_.device) watch_.device(event);
    });
  }

  TrainingMemory run() {
    std::size_t begin = 0;
    for (const std::size_t end : events_.step_ends) {
      if (!step(begin, end)) return finish();
      begin = end;
    }
    // The first step allocates what stays, so only a later step can be repeated.
    const std::size_t given = events_.step_ends.size();
    if (given < 2) return finish();
    while (!result_.settled && result_.steps.size() < kMostSimulatedSteps) {
      if (!step(events_.step_ends[given - 2], events_.step_ends[given - 1])) break;
    }
    return finish();
  }

 private:
  bool step(std::size_t begin, std::size_t end) {
    allocator_.reset_peaks();
    device_calls_ = 0;
    if (watch_.step_begins) watch_.step_begins();
    for (std::size_t i = begin; i < end; ++i) {
      if (!event(events_.events[i])) return false;
    }
    note_peaks();
    const AllocatorStatistics& now = allocator_.statistics();
    result_.steps.push_back({now.allocated.peak,
                             now.reserved.peak,
                             now.allocated.current,
                             now.reserved.current,
                             device_calls_});
    result_.settled = device_calls_ == 0;
    return true;
  }

  bool event(const TrainingEvent& event) {
    const auto position = static_cast<std::size_t>(event.allocation);
    if (event.frees) {
      tell(event);
      allocator_.free(blocks_[position].id);
      return true;
    }
    const AllocationResult answer =
        allocator_.allocate(events_.allocations[position].bytes, kStream);
    if (const auto* shortage = std::get_if<OutOfMemory>(&answer)) {
      note_peaks();
      result_.settled = false;
      result_.shortage = Shortage{events_.allocations[position].step, event.at, *shortage};
      // A repeated step has a higher number than the step of its events.
      if (result_.shortage->step > 0) {
        result_.shortage->step = static_cast<int>(result_.steps.size()) + 1;
      }
      return false;
    }
    blocks_[position] = std::get<AllocatedBlock>(answer);
    tell(event);
    return true;
  }

  void tell(const TrainingEvent& event) {
    if (!watch_.event) return;
    const AllocatedBlock& block = blocks_[static_cast<std::size_t>(event.allocation)];
    watch_.event(event, block.address, block.block_bytes);
  }

  void note_peaks() {
    const AllocatorStatistics& now = allocator_.statistics();
    result_.peak_allocated_bytes = std::max(result_.peak_allocated_bytes, now.allocated.peak);
    result_.peak_reserved_bytes = std::max(result_.peak_reserved_bytes, now.reserved.peak);
  }

  TrainingMemory finish() {
    result_.segments = allocator_.snapshot();
    return std::move(result_);
  }

  /// Autograd runs backward on the stream of forward.
  static constexpr StreamId kStream = 0;

  const TrainingEvents& events_;
  const TrainingWatch& watch_;
  CachingAllocator allocator_;
  std::vector<AllocatedBlock> blocks_;  ///< by position in TrainingEvents::allocations
  std::int64_t device_calls_ = 0;
  TrainingMemory result_;
};

}  // namespace

TrainingMemory simulate_training(const TrainingEvents& events,
                                 const AllocatorConfig& config,
                                 const DeviceLimits& limits,
                                 const TrainingWatch& watch) {
  return Simulation(events, config, limits, watch).run();
}

TrainingMemory predict_training(const program::Program& program,
                                program::OptimizerUse use,
                                const operators::WorkspaceTable& table,
                                const AllocatorConfig& config,
                                const DeviceLimits& limits) {
  // The first step allocates what stays. The second one is repeated.
  constexpr int kDifferentSteps = 2;
  const auto scripts =
      operators::call_scripts(program, operators::cuda_traits(program.target), table);
  return simulate_training(training_events(program, use, scripts, kDifferentSteps), config, limits);
}

DeviceLimits unlimited_device() {
  DeviceLimits limits;
  limits.total_bytes = 1_GiB << 20;  // a pebibyte
  // Equal to the total, so that a share in the allocator's configuration does not limit it.
  limits.allowed_bytes = limits.total_bytes;
  return limits;
}

}  // namespace elixir::memory
