// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// When the CPU device runs the tasks that it is given. Every order that the schedule's streams and
// dependencies allow gives the same bits, so the choice is one of speed and of tests.

#include <cstdint>

namespace elixir::runtime {

struct CpuOrder {
  enum class Kind : std::uint8_t {
    /// Each task on the calling thread, when it is issued. The fastest, because all streams share
    /// the same cores.
    kIssued,
    /// Tasks of the compute stream on the calling thread when they are issued; every other stream
    /// on a thread of its own, as on the CUDA device. Two steps overlap.
    kLanes,
    /// All on the calling thread, but tasks of other streams than compute run later, in an order
    /// drawn from `seed`. Two steps overlap. The same seed gives the same order.
    kShuffled,
  };
  Kind kind = Kind::kIssued;
  /// kShuffled. Of four seeds in a row, one runs tasks as late as it can, one as soon as it can,
  /// one now and then, and one hurries some streams and holds others back.
  std::uint64_t seed = 0;
};

}  // namespace elixir::runtime
