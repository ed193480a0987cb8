// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Buffers that take turns, in a step and from step to step.

#include <cstddef>
#include <vector>

#include "schedule/lower/task_list.h"
#include "schedule/schedule.h"

namespace elixir::schedule {

/// A buffer is free again when its last user has finished.
class BufferRing {
 public:
  BufferRing() = default;
  explicit BufferRing(std::vector<BufferId> buffers);

  struct Slot {
    std::size_t index = 0;
    BufferId buffer = -1;
    TaskId free_after = -1;
  };
  [[nodiscard]] Slot take();
  void give_back(const Slot& slot, TaskId first_user, TaskId last_user);
  /// The first user of a step waits for the last one of the step before.
  void link_steps(TaskList& tasks) const;

 private:
  std::vector<BufferId> buffers_;
  std::vector<TaskId> first_user_, busy_until_;
  std::size_t next_ = 0;
};

}  // namespace elixir::schedule
