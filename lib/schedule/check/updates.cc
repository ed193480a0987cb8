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
  if (several_ranks()) return collect_gradient(task);
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
  if (task.chunk != chunk) {
    problem_at(task, "stores a gradient of chunk {}", chunk);
    return;
  }
  touch_storage(task, gradient.storage, false);
  if (lands) {
    if (!land(task, it.bytes)) return;
    land_gradient(task, task.parameter);
  } else {
    const BufferId where = find(BufferRole::kGradients, chunk);
    if (task.destination != where || where < 0) {
      problem_at(task, "stores into buffer {} instead of {}", task.destination, where);
      return;
    }
    take_turn(task, where);
    touch_gradient(task, where, task.parameter, true);
    ++summed_[task.parameter];
  }
  if (++stored_[task.parameter] != task.micro_batch + 1) {
    problem_at(task, "is store {} in micro-batch {}", stored_[task.parameter], task.micro_batch);
  }
  if (!task.sums_squares) return;
  if (to_host) problem_at(task, "sums squares on the way to the host");
  sum_squares(task);
}

bool Checker::land(const Task& task, std::int64_t bytes) {
  const bool fits = task.destination >= 0 &&
                    schedule_.buffers[task.destination].role == BufferRole::kGradientLanding &&
                    schedule_.buffers[task.destination].arena == Arena::kHost &&
                    schedule_.buffers[task.destination].bytes >= bytes;
  if (!fits) {
    problem_at(task, "has no room to land in buffer {}", task.destination);
    return false;
  }
  // Chunks that take turns use the same bytes. Within a chunk, each gradient has bytes of its own.
  const bool takes_over = content_[task.destination].chunk != task.chunk;
  if (takes_over &&
      std::find(landed_in_.begin(), landed_in_.end(), task.destination) != landed_in_.end()) {
    problem_at(task,
               "overwrites gradients of chunk {} not yet added up",
               content_[task.destination].chunk);
  }
  touch_buffer(task, task.destination, takes_over);
  content_[task.destination] = {task.chunk, Content::What::kLanded};
  return true;
}

void Checker::land_gradient(const Task& task, std::int32_t parameter) {
  if (landed_in_[parameter] >= 0) problem_at(task, "overwrites a gradient not yet added up");
  touch_gradient(task, task.destination, parameter, true);
  landed_in_[parameter] = task.destination;
}

void Checker::take_landed(const Task& task, std::int32_t parameter) {
  if (landed_in_[parameter] != task.source || task.source < 0) {
    problem_at(task, "adds a gradient that has not landed in buffer {}", task.source);
    return;
  }
  touch_buffer(task, task.source, false);
  touch_gradient(task, task.source, parameter, false);
  landed_in_[parameter] = -1;
}

void Checker::accumulate(const Task& task) {
  on_stream(task, Stream::kCpu);
  if (several_ranks()) return accumulate_shard(task);
  if (task.parameter < 0 || !trains(task.parameter)) {
    problem_at(task, "adds something that is not a gradient");
    return;
  }
  const std::int32_t chunk = chunk_of_[task.parameter];
  if (task.destination != find(BufferRole::kGradients, chunk) ||
      task.micro_batch != summed_[task.parameter]) {
    problem_at(task, "adds between the wrong buffers or out of order");
    return;
  }
  take_landed(task, task.parameter);
  touch_gradient(task, task.destination, task.parameter, true);
  ++summed_[task.parameter];
  if (task.sums_squares) sum_squares(task);
}

void Checker::take_turn(const Task& task, BufferId gradients) {
  const BufferId shared = schedule_.buffers[gradients].shares;
  if (shared < 0) return;
  if (lends_gradients_) return take_back(task, gradients);
  const std::int32_t before = content_[shared].chunk;
  if (before >= 0 && before != task.chunk && !gradients_used_[before]) {
    problem_at(task, "overwrites the gradients of chunk {}, which is not updated", before);
  }
  touch_buffer(task, shared, before != task.chunk);
  content_[shared] = {task.chunk, Content::What::kGradients};
}

void Checker::read_gradients(const Task& task, BufferId buffer) {
  const BufferId shared = buffer < 0 ? -1 : schedule_.buffers[buffer].shares;
  if (shared >= 0 && !lends_gradients_) {
    if (content_[shared].chunk != task.chunk) {
      problem_at(task, "reads gradients of chunk {}", content_[shared].chunk);
    }
    touch_buffer(task, shared, false);
  }
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    if (summed_[parameter] != parts_) {
      problem_at(task,
                 "the gradient of {} has {} of {} parts",
                 program_.parameters[parameter].name,
                 summed_[parameter],
                 parts_);
    }
    touch_gradient(task, buffer, parameter, false);
  }
}

void Checker::sum_squares(const Task& task) {
  if (task.micro_batch + 1 != schedule_.micro_batches) {
    problem_at(task, "sums squares before the gradient is complete");
  }
  if (summed_squares_[task.parameter] >= 0) {
    problem_at(task, "sums the squares of parameter {} twice", task.parameter);
  }
  summed_squares_[task.parameter] = now(task);
  touch_sums(task, task.parameter, true);
}

void Checker::norm(const Task& task) {
  on_stream(task, Stream::kCompute);
  if (task.parameter < 0 || !trains(task.parameter) || task.micro_batch != current_) {
    problem_at(task, "reads something that is not a gradient of the running micro-batch");
    return;
  }
  const program::TensorRef& gradient = *program_.parameters[task.parameter].gradient;
  if (!alive_[gradient.storage] || version_[gradient.storage] != gradient.version) {
    problem_at(task, "reads a gradient that is not there or not complete");
    return;
  }
  if (task.destination < 0 ||
      schedule_.buffers[task.destination].role != BufferRole::kGradientSums) {
    problem_at(task, "does not write sums of squares");
  }
  // With several micro-batches only their sum on the host is the gradient.
  if (schedule_.micro_batches > 1) problem_at(task, "reads a part of the gradient");
  touch_storage(task, gradient.storage, false);
  sum_squares(task);
}

void Checker::clip(const Task& task) {
  on_stream(task, Stream::kCompute);
  if (several_ranks()) {
    if (!sums_gathered_ || task.source < 0) {
      problem_at(task, "lacks the squares of the other ranks");
    } else {
      touch_buffer(task, task.source, false);
    }
    return;
  }
  for (const auto& trained : trained_in_) {
    for (const std::int32_t parameter : trained) {
      if (summed_squares_[parameter] < 0) {
        problem_at(task, "lacks the squares of {}", program_.parameters[parameter].name);
      } else {
        touch_sums(task, parameter, false);
      }
    }
  }
}

void Checker::move_gradients(const Task& task) {
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool to_device = chunk.optimizer_home == Home::kDevice;
  on_stream(task, to_device ? Stream::kDeviceUpdate : Stream::kUpdateToHost);
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
  gradients_used_[task.chunk] = true;
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
    gradients_used_[task.chunk] = true;
  } else if (task.source < 0 || content_[task.source].chunk != task.chunk ||
             content_[task.source].what != Content::What::kGradients) {
    problem_at(task, "reads staging that does not hold chunk {}'s gradients", task.chunk);
    return;
  } else {
    touch_buffer(task, task.source, false);
  }
  const bool late = makes_moments_late(task.chunk);
  if (kept_gradients(task.chunk) > 2) touch_older_gradients(task, 1);
  if (late && moments_made_[task.chunk] < 0) {
    problem_at(task, "reads moments of chunk {} that are a step behind", task.chunk);
  }
  for (const BufferRole role : {BufferRole::kMaster, BufferRole::kMoment1, BufferRole::kMoment2}) {
    const BufferId state = find(role, task.chunk);
    if (state >= 0) touch_buffer(task, state, !late || role == BufferRole::kMaster);
  }
  touch_owed_moments(task);
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
             schedule_.buffers[task.destination].bytes <
                 elements_of(task.chunk) * program::element_bytes(chunk.dtype)) {
    problem_at(task, "does not write staging with room for chunk {}", task.chunk);
    return;
  } else {
    content_[task.destination] = {task.chunk, Content::What::kParameters};
  }
  if (task.destination >= 0) touch_buffer(task, task.destination, true);
}

bool Checker::makes_moments_late(std::int32_t chunk) const {
  return plan_.chunks[chunk].late_moments && schedule_.training && !trained_in_[chunk].empty();
}

int Checker::kept_gradients(std::int32_t chunk) const {
  const bool lands = schedule_.micro_batches > 1 && !reduces_once_;
  if (!makes_moments_late(chunk) || lands) return 1;
  const bool on_device = plan_.chunks[chunk].streams_update;
  return on_device && plan_.kept_gradients > 2 ? 2 : plan_.kept_gradients;
}

void Checker::touch_older_gradients(const Task& task, int steps_ago) {
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    touch_gradient(task,
                   gradients,
                   parameter,
                   /*writes=*/false,
                   step_ + kept_gradients(task.chunk) - steps_ago);
  }
}

void Checker::touch_moments(const Task& task, bool writes) {
  for (const BufferRole role : {BufferRole::kMoment1, BufferRole::kMoment2}) {
    const BufferId moments = find(role, task.chunk);
    if (!plan_.chunks[task.chunk].streams_update) {
      touch_buffer(task, moments, writes);
      continue;
    }
    for (std::int64_t first = 0; first < elements_of(task.chunk);
         first += plan_.cache.update_piece_elements) {
      Task piece = task;
      piece.first_element = first;
      touch_piece(piece, moments, writes);
    }
  }
}

void Checker::touch_owed_moments(const Task& task) {
  if (!makes_moments_late(task.chunk)) return;
  touch(task,
        (std::int64_t{1} << 58) + task.chunk,
        /*writes=*/true,
        fmt::format("what is left to do of chunk {}", task.chunk));
}

void Checker::update_moments(const Task& task) {
  if (!needs_chunk(task)) return;
  on_stream(task, Stream::kCpu);
  if (!makes_moments_late(task.chunk) || moments_made_[task.chunk] >= 0) {
    problem_at(task, "makes moments of chunk {} twice, or that are not late", task.chunk);
    return;
  }
  const BufferId gradients = find(BufferRole::kGradients, task.chunk);
  if (task.source != gradients || gradients < 0) {
    problem_at(task, "does not read the chunk's gradients");
    return;
  }
  for (const std::int32_t parameter : trained_in_[task.chunk]) {
    if (summed_[parameter] > 0 && kept_gradients(task.chunk) == 1) {
      problem_at(task, "comes after a gradient of {}", program_.parameters[parameter].name);
    }
  }
  touch_older_gradients(task, 1);
  if (kept_gradients(task.chunk) > 2) touch_older_gradients(task, 2);
  if (clip_ == nullptr) problem_at(task, "makes moments late although no update waits for a norm");
  touch_moments(task, true);
  touch_owed_moments(task);
  moments_made_[task.chunk] = now(task);
}

void Checker::move_parameters(const Task& task) {
  if (!needs_chunk(task)) return;
  const Chunk& chunk = plan_.chunks[task.chunk];
  const bool to_device = chunk.parameter_home == Home::kDevice;
  on_stream(task, to_device ? Stream::kDeviceUpdate : Stream::kUpdateToHost);
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
