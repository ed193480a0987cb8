// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Where gradients of several micro-batches land on the host before they are added up. A chunk's
// gradients of a micro-batch share a buffer, unless other chunks take it in between.

#include <cstdint>
#include <vector>

#include "schedule/buffers/buffers.h"
#include "schedule/lower/buffer_ring.h"
#include "schedule/lower/task_list.h"

namespace elixir::schedule {

class LandingRing {
 public:
  explicit LandingRing(const StepBuffers& buffers)
      : ring_(buffers.landing),
        holders_(buffers.landing.size()),
        slot_of_(buffers.of_chunk.size()) {}

  struct Place {
    BufferRing::Slot slot;
    TaskId free_after = -1;  ///< for whoever writes there
  };
  /// For gradients of the chunk that nothing has landed of in this micro-batch.
  Place take(std::int32_t chunk, int micro_batch) {
    const Holder wanted{chunk, micro_batch};
    BufferRing::Slot& slot = slot_of_[static_cast<std::size_t>(chunk)];
    // The stream of copies keeps its order, so what comes later need not wait again.
    if (slot.buffer >= 0 && holders_[slot.index] == wanted) return {.slot = slot};
    slot = ring_.take();
    holders_[slot.index] = wanted;
    return {.slot = slot, .free_after = slot.free_after};
  }
  /// `stored` has written there, and `summed` reads it.
  void give_back(const Place& place, TaskId stored, TaskId summed) {
    ring_.give_back(place.slot, stored, summed);
  }
  void link_steps(TaskList& tasks) const { ring_.link_steps(tasks); }

 private:
  struct Holder {
    std::int32_t chunk = -1;
    int micro_batch = -1;
    bool operator==(const Holder&) const = default;
  };

  BufferRing ring_;
  std::vector<Holder> holders_;            // by position in the ring
  std::vector<BufferRing::Slot> slot_of_;  // by chunk: the latest
};

}  // namespace elixir::schedule
