// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/memory/operator_memory.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/units.h"
#include "memory/step/training_memory.h"
#include "operators/scratch/cuda_traits.h"
#include "operators/scratch/workspace_table.h"

namespace elixir::schedule {
namespace {

using operators::ScriptStep;
using program::OperatorId;
using program::StorageId;

constexpr std::int32_t kNone = -1;

class Recording {
 public:
  Recording(const Schedule& schedule,
            const program::Program& program,
            const program::Lifetimes& lifetimes,
            const std::vector<operators::CallScript>& scripts)
      : schedule_(schedule),
        program_(program),
        lifetimes_(lifetimes),
        scripts_(scripts),
        places_(static_cast<std::size_t>(schedule.micro_batches),
                std::vector<std::int32_t>(program.storages.size(), kNone)) {}

  void step(int number) {
    step_ = number;
    for (const Task& task : schedule_.tasks) {
      if (task.kind != TaskKind::kCompute) continue;
      micro_batch_ = task.micro_batch;
      running_ = &task;
      for (const StorageId storage : task.releases) free(storage, task.first);
      for (OperatorId op = task.first; op < task.last; ++op) {
        if (!lifetimes_.executed[op]) continue;
        run(op);
        for (const StorageId storage : lifetimes_.released_after[op]) free(storage, op);
      }
    }
    const auto end = static_cast<OperatorId>(program_.operators.size());
    for (micro_batch_ = 0; micro_batch_ < schedule_.micro_batches; ++micro_batch_) {
      for (const program::Storage& storage : program_.storages) free(storage.id, end);
    }
    result_.step_ends.push_back(result_.events.size());
  }

  memory::TrainingEvents take() { return std::move(result_); }

 private:
  std::int32_t& place(StorageId storage) { return places_[micro_batch_][storage]; }
  /// Whether it is made in a buffer.
  [[nodiscard]] bool is_direct(StorageId storage) const {
    return std::any_of(
        running_->direct.begin(), running_->direct.end(), [&](const DirectGradient& direct) {
          return program_.parameters[direct.parameter].gradient->storage == storage;
        });
  }

  std::int32_t allocate(memory::TrainingAllocation allocation, OperatorId op) {
    const auto position = static_cast<std::int32_t>(result_.allocations.size());
    allocation.at = op;
    allocation.step = step_;
    result_.allocations.push_back(allocation);
    result_.events.push_back({.frees = false, .allocation = position, .at = op});
    return position;
  }
  void allocate(StorageId storage, OperatorId op) {
    const program::Storage& it = program_.storages[storage];
    if (it.on_host || it.bytes == 0 || place(storage) != kNone || is_direct(storage)) return;
    place(storage) = allocate({.bytes = it.bytes, .category = it.category, .storage = storage}, op);
  }
  void free(StorageId storage, OperatorId op) {
    const std::int32_t position = std::exchange(place(storage), kNone);
    if (position == kNone) return;
    result_.events.push_back({.frees = true, .allocation = position, .at = op});
  }

  void run(OperatorId op) {
    const bool first = step_ == 1 && micro_batch_ == 0;
    std::vector<std::int32_t> temporaries;
    for (const ScriptStep& now : scripts_[op].steps) {
      const bool lasting = now.once || now.kind == ScriptStep::Kind::kPersistent;
      if (lasting && !first) {
        if (now.kind == ScriptStep::Kind::kTemporary) temporaries.push_back(kNone);
        continue;
      }
      switch (now.kind) {
        case ScriptStep::Kind::kOutput:
          allocate(now.storage, op);
          break;
        case ScriptStep::Kind::kTemporary:
          temporaries.push_back(allocate({.bytes = now.bytes, .scratch = true}, op));
          break;
        case ScriptStep::Kind::kRelease: {
          const std::int32_t position = temporaries.at(static_cast<std::size_t>(now.temporary));
          if (position != kNone) {
            result_.events.push_back({.frees = true, .allocation = position, .at = op});
          }
          break;
        }
        case ScriptStep::Kind::kPersistent:
          allocate({.bytes = now.bytes, .scratch = true}, op);
          break;
      }
    }
    // Storages in no script.
    for (const StorageId storage : lifetimes_.made_by[op]) allocate(storage, op);
  }

  const Schedule& schedule_;
  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  const std::vector<operators::CallScript>& scripts_;
  std::vector<std::vector<std::int32_t>> places_;  ///< by micro-batch and storage: its allocation
  const Task* running_ = nullptr;
  std::int32_t micro_batch_ = 0;
  int step_ = 0;
  memory::TrainingEvents result_;
};

operators::CudaTraits replay_traits(const program::Program& program) {
  operators::CudaTraits traits = operators::cuda_traits(program.target);
  traits.backward_has_thread = false;
  return traits;
}

}  // namespace

std::vector<operators::CallScript> replay_scripts(const program::Program& program) {
  return operators::call_scripts(
      program, replay_traits(program), operators::shipped_workspace_table(program.target.sm));
}

std::int64_t library_bytes(const program::Program& program) {
  if (program.target.kind != program::Target::Kind::kCuda) return 0;
  return operators::persistent_bytes(program, replay_traits(program));
}

memory::TrainingEvents operator_events(const Schedule& schedule,
                                       const program::Program& program,
                                       const program::Lifetimes& lifetimes,
                                       const std::vector<operators::CallScript>& scripts,
                                       int steps) {
  Recording recording(schedule, program, lifetimes, scripts);
  for (int step = 1; step <= steps; ++step) recording.step(step);
  return recording.take();
}

OperatorMemory operator_memory(const memory::TrainingEvents& events) {
  memory::AllocatorConfig as_in_training;
  as_in_training.expandable_segments = true;
  const memory::TrainingMemory simulated =
      memory::simulate_training(events, as_in_training, memory::unlimited_device());
  return {.peak_allocated_bytes = simulated.peak_allocated_bytes,
          .peak_reserved_bytes = simulated.peak_reserved_bytes,
          .settled = simulated.settled};
}

}  // namespace elixir::schedule
