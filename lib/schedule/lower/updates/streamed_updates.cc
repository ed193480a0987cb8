// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/updates/streamed_updates.h"

#include <algorithm>
#include <utility>

#include "schedule/buffers/update_piece.h"

namespace elixir::schedule {

using plan::Chunk;
using plan::Home;

StreamedUpdates::StreamedUpdates(const plan::Plan& plan,
                                 const StepBuffers& buffers,
                                 std::vector<ChunkTasks>& chunk_tasks,
                                 TaskList& tasks)
    : plan_(plan),
      buffers_(buffers),
      chunk_tasks_(chunk_tasks),
      tasks_(tasks),
      ring_(buffers.update_pieces) {}

void StreamedUpdates::update(std::int32_t chunk, TaskId clip) {
  const Chunk& it = plan_.chunks[chunk];
  const std::int64_t elements = plan::shard_elements(plan_, it);
  const std::int64_t most = plan_.cache.update_piece_elements;
  for (std::int64_t first = 0; first < elements; first += most) {
    Piece next = load(chunk, first, std::min(most, elements - first));
    next.clip = clip;
    if (loaded_) update_and_store(*loaded_);
    loaded_ = next;
  }
  // Without clipping, updates come one by one in backward, and none of them waits for the next.
  if (clip < 0) finish();
}

void StreamedUpdates::finish() {
  if (loaded_) update_and_store(*std::exchange(loaded_, std::nullopt));
}

StreamedUpdates::Piece StreamedUpdates::load(std::int32_t chunk,
                                             std::int64_t first,
                                             std::int64_t elements) {
  const Chunk& it = plan_.chunks[chunk];
  ChunkTasks& mine = chunk_tasks_[chunk];
  Piece piece{.chunk = chunk, .first = first, .elements = elements, .slot = ring_.take()};
  piece.load = tasks_.add({.kind = TaskKind::kLoadState,
                           .stream = Stream::kDeviceUpdate,
                           .chunk = chunk,
                           .destination = piece.slot.buffer,
                           .first_element = first,
                           .elements = elements,
                           .bytes = elements * piece_loaded_bytes(plan_, it)},
                          {it.gradient_home == Home::kHost ? mine.gradients_done : -1,
                           piece.slot.free_after,
                           mine.moments_made});
  if (it.gradient_home == Home::kHost) mine.gradients_read = piece.load;
  return piece;
}

void StreamedUpdates::update_and_store(const Piece& piece) {
  const Chunk& it = plan_.chunks[piece.chunk];
  const ChunkBuffers& buffers = buffers_.of_chunk[piece.chunk];
  ChunkTasks& mine = chunk_tasks_[piece.chunk];
  const bool goes_home = it.parameter_home == Home::kDevice;
  // Whoever writes the parameters' home waits for its readers: loads of blocks, or operators.
  const TaskId readers = plan::needs_block(plan_, it) ? mine.home_read : mine.reader;
  const TaskId updated =
      tasks_.add({.kind = TaskKind::kUpdate,
                  .stream = Stream::kUpdateToHost,
                  .chunk = piece.chunk,
                  .source = piece.slot.buffer,
                  .destination = goes_home ? buffers.parameters : piece.slot.buffer,
                  .first_element = piece.first,
                  .elements = piece.elements,
                  .bytes = piece.elements * update_bytes(plan_, it)},
                 {piece.load, piece.clip, mine.gradients_done, goes_home ? readers : -1});
  const TaskId stored = tasks_.add({.kind = TaskKind::kStoreState,
                                    .stream = Stream::kUpdateToHost,
                                    .chunk = piece.chunk,
                                    .source = piece.slot.buffer,
                                    .first_element = piece.first,
                                    .elements = piece.elements,
                                    .bytes = piece.elements * piece_stored_bytes(plan_, it)},
                                   {updated, goes_home ? -1 : readers});
  ring_.give_back(piece.slot, piece.load, stored);
  mine.optimized = updated;
  mine.updated = goes_home ? updated : stored;
  trips_.push_back({.load = piece.load, .store = stored});
  if (it.gradient_home == Home::kDevice) mine.gradients_read = updated;
}

void StreamedUpdates::link_steps() const {
  ring_.link_steps(tasks_);
  for (const Trip& trip : trips_) tasks_.link(trip.load, trip.store);
}

}  // namespace elixir::schedule
