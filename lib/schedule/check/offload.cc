// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks activations that wait on the host: copied out before their memory is free, and copied back
// before anything reads them.
#include <algorithm>

#include "operators/own.h"
#include "schedule/check/checker.h"

namespace elixir::schedule {

using program::TensorRef;

void Checker::movement(const Task& task, const program::Operator& op) {
  const auto storage = [](const std::vector<program::Argument>& tensors, std::size_t position) {
    return std::get<TensorRef>(tensors.at(position)).storage;
  };
  if (!schedule_.training) return;  // nothing comes back
  switch (operators::movement_of(op.name)) {
    case operators::Movement::kNone:
    case operators::Movement::kOffloadBegin:
    case operators::Movement::kReloadEnd:
      return;
    case operators::Movement::kOffloadEnd: {
      const Trip& trip = trips_[storage(op.arguments, 1)];
      if (trip.offloaded_in != task.micro_batch) {
        problem_at(task, "gives up storage {}, which is not on the host", trip.leaves);
      }
      // Its memory may become another storage's.
      touch_storage(task, trip.leaves, true);
      return;
    }
    case operators::Movement::kReloadBegin:
      awaited_[storage(op.outputs, 0)] = true;
      return;
  }
}

void Checker::offload(const Task& task) {
  on_stream(task, Stream::kDeviceToHost);
  const auto found = std::find_if(trips_.begin(), trips_.end(), [&](const auto& entry) {
    return entry.second.leaves == task.storage;
  });
  if (found == trips_.end() || task.destination < 0 ||
      task.destination != find(BufferRole::kOffloaded, found->first)) {
    problem_at(task, "moves storage {} to buffer {}, not its own", task.storage, task.destination);
    return;
  }
  Trip& trip = found->second;
  if (!alive_[task.storage] || next_operator_[task.micro_batch] <= trip.begins ||
      task.micro_batch != current_) {
    problem_at(task, "moves storage {}, which is not there or not final", task.storage);
    return;
  }
  if (task.bytes != trip.bytes) {
    problem_at(
        task, "moves {} of the {} bytes of storage {}", task.bytes, trip.bytes, task.storage);
  }
  touch_storage(task, task.storage, false);
  touch_buffer(task, task.destination, true);
  trip.offloaded_in = task.micro_batch;
}

void Checker::reload(const Task& task) {
  on_stream(task, Stream::kHostToDevice);
  const auto found = std::find_if(trips_.begin(), trips_.end(), [&](const auto& entry) {
    return entry.second.returns == task.storage;
  });
  if (found == trips_.end() || task.source < 0 ||
      task.source != find(BufferRole::kOffloaded, found->first)) {
    problem_at(task, "moves buffer {} to storage {}, not its own", task.source, task.storage);
    return;
  }
  const Trip& trip = found->second;
  if (!alive_[task.storage] || !awaited_[task.storage] || trip.offloaded_in != task.micro_batch ||
      task.micro_batch != current_) {
    problem_at(task, "moves a storage that is not on the host to storage {}", task.storage);
    return;
  }
  if (task.bytes != trip.bytes) {
    problem_at(
        task, "moves {} of the {} bytes of storage {}", task.bytes, trip.bytes, task.storage);
  }
  touch_buffer(task, task.source, false);
  touch_storage(task, task.storage, true);
  awaited_[task.storage] = false;
}

}  // namespace elixir::schedule
