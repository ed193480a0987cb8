// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Checks optimizer state that lives on the host and goes through the device in pieces: each piece
// is loaded, updated and stored once, in order.
#include <algorithm>

#include "schedule/check/checker.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;
using program::DType;

std::int64_t Checker::elements_of(std::int32_t chunk) const {
  return plan_.chunks[chunk].bytes / program::element_bytes(plan_.chunks[chunk].dtype) /
         plan::grid_of(plan_).shards();
}

std::int64_t Checker::state_bytes(const Chunk& chunk) const {
  return (is_split(chunk) ? 2 : 4) + 2 * program::element_bytes(plan_.moment_dtype);
}

void Checker::touch_piece(const Task& task, BufferId buffer, bool writes) {
  touch(task,
        (std::int64_t{1} << 60) + (static_cast<std::int64_t>(buffer) << 40) + task.first_element,
        writes,
        fmt::format("elements from {} of buffer {}", task.first_element, buffer));
}

bool Checker::is_next_piece(const Task& task, std::int64_t next) {
  if (!needs_chunk(task)) return false;
  const std::int64_t elements =
      std::min(plan_.cache.update_piece_elements, elements_of(task.chunk) - next);
  if (!plan_.chunks[task.chunk].streams_update || trained_in_[task.chunk].empty() ||
      task.first_element != next || task.elements != elements || elements <= 0) {
    problem_at(task, "is about another piece than the one from element {}", next);
    return false;
  }
  return true;
}

bool Checker::holds_piece(const Task& task, BufferId buffer, Content::What what) {
  if (buffer >= 0) {
    const Content& content = content_[buffer];
    if (content.chunk == task.chunk && content.what == what &&
        content.first_element == task.first_element && content.elements == task.elements) {
      return true;
    }
  }
  problem_at(task, "finds another piece in buffer {}", buffer);
  return false;
}

void Checker::load_state(const Task& task) {
  on_stream(task, Stream::kDeviceUpdate);
  if (!is_next_piece(task, task.chunk < 0 ? 0 : pieces_loaded_[task.chunk])) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const std::int64_t gradient_bytes =
      chunk.gradient_home == Home::kHost ? program::element_bytes(chunk.gradient_dtype) : 0;
  const std::int64_t parameter_bytes =
      chunk.parameter_home == Home::kHost ? program::element_bytes(chunk.dtype) : 0;
  const std::int64_t own = chunk.dtype == DType::kFloat32 ? 0 : parameter_bytes;
  const bool fits = task.destination >= 0 &&
                    schedule_.buffers[task.destination].role == BufferRole::kUpdatePiece &&
                    schedule_.buffers[task.destination].arena == Arena::kDevice &&
                    schedule_.buffers[task.destination].bytes >=
                        task.elements * (state_bytes(chunk) + gradient_bytes + own);
  if (!fits) {
    problem_at(task, "has no room for a piece in buffer {}", task.destination);
    return;
  }
  if (task.bytes !=
      task.elements * (state_bytes(chunk) + gradient_bytes + (is_split(chunk) ? own : 0))) {
    problem_at(task, "moves {} bytes of {} elements", task.bytes, task.elements);
  }
  if (makes_moments_late(task.chunk) && moments_made_[task.chunk] < 0) {
    problem_at(task, "reads moments of chunk {} that are a step behind", task.chunk);
  }
  for (const BufferRole role : {BufferRole::kMaster, BufferRole::kMoment1, BufferRole::kMoment2}) {
    const BufferId state = find(role, task.chunk);
    if (state >= 0) touch_piece(task, state, false);
  }
  if (plan::master_is_parameter(chunk) || is_split(chunk)) {
    touch_piece(task, find(BufferRole::kParameters, task.chunk), false);
  }
  if (gradient_bytes > 0) read_gradients(task, find(BufferRole::kGradients, task.chunk));
  touch_buffer(task, task.destination, true);
  content_[task.destination] = {
      task.chunk, Content::What::kState, task.first_element, task.elements};
  pieces_loaded_[task.chunk] += task.elements;
  if (gradient_bytes > 0 && pieces_loaded_[task.chunk] == elements_of(task.chunk)) {
    gradients_used_[task.chunk] = true;
  }
}

void Checker::update_piece(const Task& task) {
  on_stream(task, Stream::kUpdateToHost);
  if (!is_next_piece(task, pieces_updated_[task.chunk])) return;
  if (!holds_piece(task, task.source, Content::What::kState)) return;
  if (clip_ != nullptr && !ordered(now(*clip_), now(task))) {
    problem_at(task, "does not wait for the clip");
  }
  const Chunk& chunk = plan_.chunks[task.chunk];
  if (chunk.gradient_home == Home::kDevice) {
    read_gradients(task, find(BufferRole::kGradients, task.chunk));
  }
  const BufferId home = find(BufferRole::kParameters, task.chunk);
  const bool goes_home = chunk.parameter_home == Home::kDevice;
  if (task.destination != (goes_home ? home : task.source)) {
    problem_at(task, "writes the parameters to buffer {}", task.destination);
  }
  touch_buffer(task, task.source, true);
  if (goes_home) touch_buffer(task, home, true);
  touch_owed_moments(task);
  content_[task.source].what = Content::What::kUpdatedState;
  updated_[task.chunk] = true;
  pieces_updated_[task.chunk] += task.elements;
  if (pieces_updated_[task.chunk] == elements_of(task.chunk)) gradients_used_[task.chunk] = true;
}

void Checker::store_state(const Task& task) {
  on_stream(task, Stream::kUpdateToHost);
  if (!is_next_piece(task, task.chunk < 0 ? 0 : pieces_stored_[task.chunk])) return;
  if (!holds_piece(task, task.source, Content::What::kUpdatedState)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool from_host = chunk.parameter_home == Home::kHost;
  const bool own = from_host && chunk.dtype != DType::kFloat32;
  const bool late = makes_moments_late(task.chunk);
  const std::int64_t moments = late ? 2 * program::element_bytes(plan_.moment_dtype) : 0;
  if (task.bytes != task.elements * (state_bytes(chunk) - moments +
                                     (own ? program::element_bytes(chunk.dtype) : 0))) {
    problem_at(task, "moves {} bytes of {} elements", task.bytes, task.elements);
  }
  for (const BufferRole role : {BufferRole::kMaster, BufferRole::kMoment1, BufferRole::kMoment2}) {
    const BufferId state = find(role, task.chunk);
    if (state >= 0 && !(late && role != BufferRole::kMaster)) touch_piece(task, state, true);
  }
  const BufferId home = find(BufferRole::kParameters, task.chunk);
  if (plan::master_is_parameter(chunk) || is_split(chunk)) touch_piece(task, home, true);
  if (from_host) touch_buffer(task, home, true);  // fetches read all of it
  touch_buffer(task, task.source, false);
  content_[task.source] = {};
  pieces_stored_[task.chunk] += task.elements;
  if (pieces_stored_[task.chunk] == elements_of(task.chunk)) home_again_[task.chunk] = true;
}

}  // namespace elixir::schedule
