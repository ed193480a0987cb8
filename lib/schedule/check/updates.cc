// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks the transfers of gradients, and updates.
#include <algorithm>

#include "schedule/check/checker.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;
using program::DType;

bool Checker::trains(std::int32_t parameter) const {
  const auto& list = trained_in_[chunk_of_[parameter]];
  return std::find(list.begin(), list.end(), parameter) != list.end();
}

void Checker::store_gradient(const Task& task) {
  if (task.parameter < 0 || !trains(task.parameter) || task.micro_batch != current_) {
    problem_at(task, "stores something that is not a gradient of the running micro-batch");
    return;
  }
  const std::int32_t chunk = chunk_of_[task.parameter];
  const Chunk& it = plan_.chunks[chunk];
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  const bool to_host = it.gradient_home == Home::kHost;
  const bool lands = to_host && schedule_.micro_batches > 1;
  on_stream(task, to_host ? Stream::kDeviceToHost : Stream::kCompute);
  if (!alive_[gradient.storage] || version_[gradient.storage] != gradient.version) {
    problem_at(task, "stores a gradient that is not there or not complete");
    return;
  }
  const BufferId where = find(lands ? BufferRole::kGradientLanding : BufferRole::kGradients, chunk);
  if (task.destination != where || task.chunk != chunk || where < 0) {
    problem_at(task, "stores into buffer {} instead of {}", task.destination, where);
    return;
  }
  touch_storage(task, gradient.storage, false);
  touch_gradient(task, where, task.parameter, true);
  if (lands) {
    if (landed_[task.parameter]) problem_at(task, "overwrites a gradient not yet added up");
    landed_[task.parameter] = true;
  } else {
    ++summed_[task.parameter];
  }
  if (++stored_[task.parameter] != task.micro_batch + 1) {
    problem_at(task, "is store {} in micro-batch {}", stored_[task.parameter], task.micro_batch);
  }
}

void Checker::accumulate(const Task& task) {
  on_stream(task, Stream::kCpu);
  if (task.parameter < 0 || !trains(task.parameter) || !landed_[task.parameter]) {
    problem_at(task, "adds a gradient that has not landed");
    return;
  }
  const std::int32_t chunk = chunk_of_[task.parameter];
  if (task.source != find(BufferRole::kGradientLanding, chunk) ||
      task.destination != find(BufferRole::kGradients, chunk) ||
      task.micro_batch != summed_[task.parameter]) {
    problem_at(task, "adds between the wrong buffers or out of order");
    return;
  }
  touch_gradient(task, task.source, task.parameter, false);
  touch_gradient(task, task.destination, task.parameter, true);
  landed_[task.parameter] = false;
  ++summed_[task.parameter];
}

void Checker::read_gradients(const Task& task, BufferId buffer) {
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    if (summed_[parameter] != schedule_.micro_batches) {
      problem_at(task,
                 "the gradient of {} has {} of {} micro-batches",
                 program_.parameters[parameter].name,
                 summed_[parameter],
                 schedule_.micro_batches);
    }
    touch_gradient(task, buffer, parameter, false);
  }
}

void Checker::norm(const Task& task) {
  if (!needs_chunk(task)) return;
  const bool on_device = plan_.chunks[task.chunk].gradient_home == Home::kDevice;
  on_stream(task, on_device ? Stream::kCompute : Stream::kCpu);
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  if (task.source != gradients || gradients < 0) {
    problem_at(task, "does not read the chunk's gradients");
    return;
  }
  if (normed_[task.chunk] >= 0) problem_at(task, "counts chunk {} twice", task.chunk);
  normed_[task.chunk] = now(task);
  read_gradients(task, gradients);
}

void Checker::clip(const Task& task) {
  on_stream(task, Stream::kCpu);
  for (std::size_t c = 0; c < plan_.chunks.size(); ++c) {
    if (trained_in_[c].empty()) continue;
    if (normed_[c] < 0 || !ordered(normed_[c], now(task))) {
      problem_at(task, "does not wait for the norm of chunk {}", c);
    }
  }
}

void Checker::move_gradients(const Task& task) {
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool to_device = chunk.optimizer_home == Home::kDevice;
  on_stream(task, to_device ? Stream::kDeviceUpdate : Stream::kDeviceToHost);
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  if (task.source != gradients || gradients < 0 || task.destination < 0 ||
      schedule_.buffers[task.destination].role !=
          (to_device ? BufferRole::kDeviceStaging : BufferRole::kHostStaging) ||
      schedule_.buffers[task.destination].bytes < schedule_.buffers[gradients].bytes ||
      task.bytes > schedule_.buffers[task.destination].bytes) {
    problem_at(task, "does not go from the chunk's gradients to staging with room for them");
    return;
  }
  read_gradients(task, gradients);
  touch_buffer(task, task.destination, true);
  content_[task.destination] = {task.chunk, Content::What::kGradients};
}

void Checker::update(const Task& task) {
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  if (chunk.streams_update) return update_piece(task);
  const bool on_device = chunk.optimizer_home == Home::kDevice;
  on_stream(task, on_device ? Stream::kCompute : Stream::kCpu);
  if (trained_in_[task.chunk].empty() || updated_[task.chunk]) {
    problem_at(task, "updates chunk {} twice or without gradients", task.chunk);
    return;
  }
  if (clip_ != nullptr && !ordered(now(*clip_), now(task)))
    problem_at(task, "does not wait for the clip");
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  if (chunk.gradient_home == chunk.optimizer_home) {
    if (task.source != gradients) problem_at(task, "does not read the chunk's gradients");
    read_gradients(task, gradients);
  } else if (task.source < 0 || content_[task.source].chunk != task.chunk ||
             content_[task.source].what != Content::What::kGradients) {
    problem_at(task, "reads staging that does not hold chunk {}'s gradients", task.chunk);
    return;
  } else {
    touch_buffer(task, task.source, false);
  }
  for (const BufferRole role : {BufferRole::kMaster, BufferRole::kMoment1, BufferRole::kMoment2}) {
    const BufferId state = find(role, task.chunk);
    if (state >= 0) touch_buffer(task, state, true);
  }
  const BufferId home = find(BufferRole::kParameters, task.chunk);
  updated_[task.chunk] = true;
  if (chunk.parameter_home == chunk.optimizer_home) {
    if (task.destination != home) problem_at(task, "does not write the chunk's parameters");
    home_again_[task.chunk] = true;
  } else if (chunk.dtype == DType::kFloat32) {
    if (task.destination != find(BufferRole::kMaster, task.chunk)) {
      problem_at(task, "does not leave the parameters in their master");
    }
  } else if (task.destination < 0 ||
             schedule_.buffers[task.destination].role !=
                 (on_device ? BufferRole::kDeviceStaging : BufferRole::kHostStaging) ||
             schedule_.buffers[task.destination].bytes < chunk.bytes) {
    problem_at(task, "does not write staging with room for chunk {}", task.chunk);
    return;
  } else {
    content_[task.destination] = {task.chunk, Content::What::kParameters};
  }
  if (task.destination >= 0) touch_buffer(task, task.destination, true);
}

void Checker::move_parameters(const Task& task) {
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool to_device = chunk.parameter_home == Home::kDevice;
  on_stream(task, to_device ? Stream::kDeviceUpdate : Stream::kDeviceToHost);
  const BufferId home = find(BufferRole::kParameters, task.chunk);
  const BufferId master = find(BufferRole::kMaster, task.chunk);
  const bool from_master = chunk.dtype == DType::kFloat32 && master >= 0 && task.source == master;
  if (!updated_[task.chunk] || home_again_[task.chunk] || task.destination != home || home < 0 ||
      task.source < 0 ||
      (!from_master && (content_[task.source].chunk != task.chunk ||
                        content_[task.source].what != Content::What::kParameters))) {
    problem_at(task, "does not bring chunk {}'s updated parameters home", task.chunk);
    return;
  }
  touch_buffer(task, task.source, false);
  touch_buffer(task, home, true);
  home_again_[task.chunk] = true;
}

}  // namespace elixir::schedule
