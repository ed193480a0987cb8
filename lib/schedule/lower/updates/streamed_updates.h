// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Updates of chunks whose optimizer state lives on the host and goes through the device in pieces.
// A piece is loaded before the one before it is updated, so that the links never wait for AdamW.

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "schedule/buffers/buffers.h"
#include "schedule/lower/buffer_ring.h"
#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// Adds to `tasks`; everything that it is given must outlive it.
class StreamedUpdates {
 public:
  StreamedUpdates(const plan::Plan& plan,
                  const StepBuffers& buffers,
                  std::vector<ChunkTasks>& chunk_tasks,
                  TaskList& tasks);

  /// All pieces of a chunk but the last, which is updated with the next chunk or by finish().
  /// `clip`: the task that makes the clip factor; -1: there is none.
  void update(std::int32_t chunk, TaskId clip);
  void finish();
  void link_steps() const;
  /// -1: no state goes through the device. After finish().
  [[nodiscard]] TaskId last_load() const { return trips_.empty() ? -1 : trips_.back().load; }

 private:
  /// A piece that is loaded and not yet updated.
  struct Piece {
    std::int32_t chunk = -1;
    std::int64_t first = 0, elements = 0;
    BufferRing::Slot slot;
    TaskId load = -1, clip = -1;
  };
  Piece load(std::int32_t chunk, std::int64_t first, std::int64_t elements);
  void update_and_store(const Piece& piece);

  const plan::Plan& plan_;
  const StepBuffers& buffers_;
  std::vector<ChunkTasks>& chunk_tasks_;
  TaskList& tasks_;
  BufferRing ring_;
  std::optional<Piece> loaded_;
  struct Trip {
    TaskId load = -1, store = -1;
  };
  std::vector<Trip> trips_;  // of all pieces
};

}  // namespace elixir::schedule
