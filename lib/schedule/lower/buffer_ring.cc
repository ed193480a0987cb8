// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/lower/buffer_ring.h"

#include <utility>

namespace elixir::schedule {

BufferRing::BufferRing(std::vector<BufferId> buffers)
    : buffers_(std::move(buffers)),
      first_user_(buffers_.size(), -1),
      busy_until_(buffers_.size(), -1) {}

BufferRing::Slot BufferRing::take() {
  const std::size_t index = next_;
  next_ = (next_ + 1) % buffers_.size();
  return {.index = index, .buffer = buffers_[index], .free_after = busy_until_[index]};
}

void BufferRing::give_back(const Slot& slot, TaskId first_user, TaskId last_user) {
  if (first_user_[slot.index] < 0) first_user_[slot.index] = first_user;
  busy_until_[slot.index] = last_user;
}

void BufferRing::link_steps(TaskList& tasks) const {
  for (std::size_t i = 0; i < buffers_.size(); ++i) tasks.link(first_user_[i], busy_until_[i]);
}

}  // namespace elixir::schedule
