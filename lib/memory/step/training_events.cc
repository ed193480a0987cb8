// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/training_events.h"

#include <utility>

#include "core/error.h"
#include "memory/step/optimizer_state.h"
#include "memory/step/optimizer_update.h"

namespace elixir::memory {
namespace {

using program::Category;
using program::OperatorId;
using program::Program;
using program::Storage;
using program::StorageId;

class Recording {
 public:
  Recording(const Program& program, const std::vector<operators::CallScript>& scripts)
      : program_(program),
        scripts_(scripts),
        after_(static_cast<OperatorId>(program.operators.size())),
        place_(program.storages.size(), -1),
        dies_(program.operators.size()) {
    require(scripts.size() == program.operators.size(), "one script for each operator");
    for (const Storage& storage : program.storages) {
      if (storage.on_host || storage.bytes == 0 || storage.allocated_at < 0) continue;
      if (storage.freed_after >= 0 && storage.freed_after < after_) {
        dies_[static_cast<std::size_t>(storage.freed_after)].push_back(storage.id);
      } else {
        ends_with_step_.push_back(storage.id);
      }
    }
  }

  void before_training(const std::vector<OptimizerTensor>& state) {
    for (const Category category :
         {Category::kParameter, Category::kBuffer, Category::kInput, Category::kConstant}) {
      for (const Storage& storage : program_.storages) {
        if (storage.category == category && storage.allocated_at < 0 && !storage.on_host &&
            storage.bytes > 0) {
          allocate({.bytes = storage.bytes, .category = category, .storage = storage.id}, -1);
        }
      }
    }
    for (const OptimizerTensor& tensor : state) {
      if (is_made_before_training(tensor.part)) optimizer_state(tensor, -1);
    }
  }

  void step(int number, const std::vector<OptimizerTensor>& state, const OptimizerUpdate& update) {
    step_ = number;
    for (OperatorId op = 0; op < after_; ++op) {
      run(scripts_[static_cast<std::size_t>(op)], op);
      for (const StorageId id : dies_[static_cast<std::size_t>(op)]) free(id, op);
    }
    run(update.clipping, after_);
    if (number == 1) {
      for (const OptimizerTensor& tensor : state) {
        if (!is_made_before_training(tensor.part)) optimizer_state(tensor, after_);
      }
    }
    run(update.update, after_);
    for (const StorageId id : ends_with_step_) free(id, after_);
    result_.step_ends.push_back(result_.events.size());
  }

  TrainingEvents take() { return std::move(result_); }

 private:
  std::int32_t allocate(TrainingAllocation allocation, OperatorId at) {
    const auto position = static_cast<std::int32_t>(result_.allocations.size());
    allocation.at = at;
    allocation.step = step_;
    if (allocation.storage >= 0) place_[static_cast<std::size_t>(allocation.storage)] = position;
    result_.allocations.push_back(allocation);
    result_.events.push_back({false, position, at});
    return position;
  }
  void free(StorageId id, OperatorId at) {
    const std::int32_t position = std::exchange(place_[static_cast<std::size_t>(id)], -1);
    require(position >= 0, "a storage is freed that no call allocated");
    result_.events.push_back({true, position, at});
  }
  void optimizer_state(const OptimizerTensor& tensor, OperatorId at) {
    if (tensor.elements > 0) {
      allocate({.bytes = tensor.bytes(),
                .category = Category::kOptimizerState,
                .parameter = tensor.parameter,
                .part = tensor.part,
                .dtype = tensor.dtype},
               at);
    }
  }

  void run(const operators::CallScript& script, OperatorId op) {
    std::vector<std::int32_t> temporaries;
    for (const operators::ScriptStep& now : script.steps) {
      if (now.once && step_ != 1) {
        if (now.kind == operators::ScriptStep::Kind::kTemporary) temporaries.push_back(-1);
        continue;
      }
      switch (now.kind) {
        case operators::ScriptStep::Kind::kOutput:
          allocate({.bytes = now.bytes,
                    .category = program_.storages[static_cast<std::size_t>(now.storage)].category,
                    .storage = now.storage},
                   op);
          break;
        case operators::ScriptStep::Kind::kTemporary:
          temporaries.push_back(allocate({.bytes = now.bytes, .scratch = true}, op));
          break;
        case operators::ScriptStep::Kind::kRelease:
          result_.events.push_back(
              {true, temporaries.at(static_cast<std::size_t>(now.temporary)), op});
          break;
        case operators::ScriptStep::Kind::kPersistent:
          allocate({.bytes = now.bytes, .scratch = true}, op);
          break;
      }
    }
  }

  const Program& program_;
  const std::vector<operators::CallScript>& scripts_;
  OperatorId after_;
  std::vector<std::int32_t> place_;  ///< by storage: its current allocation; -1: none
  std::vector<std::vector<StorageId>> dies_;
  std::vector<StorageId> ends_with_step_;
  int step_ = 0;
  TrainingEvents result_;
};

}  // namespace

TrainingEvents training_events(const Program& program,
                               program::OptimizerUse use,
                               const std::vector<operators::CallScript>& scripts,
                               int steps) {
  const std::vector<OptimizerTensor> state = optimizer_state(program, use);
  const OptimizerUpdate update = optimizer_update(program, use);
  Recording recording(program, scripts);
  recording.before_training(state);
  for (int step = 1; step <= steps; ++step) recording.step(step, state, update);
  return recording.take();
}

}  // namespace elixir::memory
