// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks activations that wait on the host, or where gradients come later: copied out before their
// memory is free, and copied back before anything reads them.
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
        problem_at(task, "gives up storage {}, which has not been copied", trip.leaves);
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

void Checker::touch_lent(const Task& task, const Trip& trip, bool writes) {
  for (const BufferId id : trip.over) {
    const Buffer& buffer = schedule_.buffers[id];
    if (buffer.role == BufferRole::kGradients) {
      touch_lent_gradients(task, buffer, writes);
      continue;
    }
    if (content_[id].chunk >= 0) problem_at(task, "uses memory of gradients that are collected");
    touch_buffer(task, id, writes);
  }
}

void Checker::touch_lent_gradients(const Task& task, const Buffer& gradients, bool writes) {
  for (const std::int32_t parameter : trained_in_[gradients.chunk]) {
    if (summed_[parameter] > 0) {
      problem_at(task, "uses memory of a gradient of {}", program_.parameters[parameter].name);
    }
    touch_gradient(task, gradients.id, parameter, writes);
  }
}

void Checker::take_back(const Task& task, BufferId buffer) {
  for (const auto& [copy, trip] : trips_) {
    if (trip.offloaded_in < 0 || trip.is_back ||
        std::find(trip.over.begin(), trip.over.end(), buffer) == trip.over.end()) {
      continue;
    }
    problem_at(task, "overwrites storage {}, which waits in memory of gradients", trip.leaves);
  }
}

void Checker::offload(const Task& task) {
  Trip* trip = trip_of(task, &Trip::leaves, task.destination);
  if (trip == nullptr) return;
  const bool lent = schedule_.buffers[task.destination].arena == Arena::kDevice;
  on_stream(task, lent ? Stream::kCompute : Stream::kDeviceToHost);
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
  touch_lent(task, *trip, true);
  trip->offloaded_in = task.micro_batch;
}

void Checker::reload(const Task& task) {
  Trip* trip = trip_of(task, &Trip::returns, task.source);
  if (trip == nullptr) return;
  const bool lent = schedule_.buffers[task.source].arena == Arena::kDevice;
  on_stream(task, lent ? Stream::kCompute : Stream::kHostToDevice);
  if (!alive_[task.storage] || !awaited_[task.storage] || trip->offloaded_in != task.micro_batch ||
      task.micro_batch != current_) {
    problem_at(task, "moves a storage that does not wait to storage {}", task.storage);
    return;
  }
  touch_buffer(task, task.source, false);
  touch_lent(task, *trip, false);
  trip->is_back = true;
  touch_storage(task, task.storage, true);
  awaited_[task.storage] = false;
}

}  // namespace elixir::schedule
