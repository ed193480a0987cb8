// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks activations that wait on the host: copied out before their memory is free, and copied back
// before anything reads them.
#include <algorithm>

#include "operators/own.h"
#include "schedule/check/checker.h"

namespace elixir::schedule {

using program::StorageId;
using program::TensorRef;

void Checker::movement(const Task& task, const program::Operator& op) {
  const auto storage = [](const std::vector<program::Argument>& tensors, std::size_t position) {
    return std::get<TensorRef>(tensors.at(position)).storage;
  };
  if (!schedule_.training) return;  // nothing comes back
  switch (operators::movement_of(op.name)) {
    case operators::Movement::kNone:
    case operators::Movement::kReloadEnd:
      return;
    case operators::Movement::kOffloadBegin:
      trips_[storage(op.outputs, 0)].begun = now(task);
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

Checker::Trip* Checker::trip_of(const Task& task, StorageId Trip::*on_device, BufferId on_host) {
  const auto found = std::find_if(trips_.begin(), trips_.end(), [&](const auto& entry) {
    return entry.second.*on_device == task.storage;
  });
  if (found == trips_.end() || on_host < 0 ||
      on_host != find(BufferRole::kOffloaded, found->first)) {
    problem_at(task,
               "moves storage {} and buffer {}, which do not belong together",
               task.storage,
               on_host);
    return nullptr;
  }
  if (task.bytes != found->second.bytes) {
    problem_at(task,
               "moves {} of the {} bytes of storage {}",
               task.bytes,
               found->second.bytes,
               task.storage);
  }
  return &found->second;
}

void Checker::offload(const Task& task) {
  on_stream(task, Stream::kDeviceToHost);
  Trip* trip = trip_of(task, &Trip::leaves, task.destination);
  if (trip == nullptr) return;
  if (!alive_[task.storage] || next_operator_[task.micro_batch] <= trip->begins ||
      task.micro_batch != current_) {
    problem_at(task, "moves storage {}, which is not there or not final", task.storage);
    return;
  }
  if (!ordered(trip->begun, now(task))) {
    problem_at(task, "does not wait for the range that begins the way of storage {}", task.storage);
  }
  touch_storage(task, task.storage, false);
  touch_buffer(task, task.destination, true);
  trip->offloaded_in = task.micro_batch;
}

void Checker::reload(const Task& task) {
  on_stream(task, Stream::kHostToDevice);
  const Trip* trip = trip_of(task, &Trip::returns, task.source);
  if (trip == nullptr) return;
  if (!alive_[task.storage] || !awaited_[task.storage] || trip->offloaded_in != task.micro_batch ||
      task.micro_batch != current_) {
    problem_at(task, "moves a storage that is not on the host to storage {}", task.storage);
    return;
  }
  touch_buffer(task, task.source, false);
  touch_storage(task, task.storage, true);
  awaited_[task.storage] = false;
}

}  // namespace elixir::schedule
