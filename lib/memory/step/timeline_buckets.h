// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Reduces the timeline of many operators to few steps, for charts. A bucket covers consecutive
// operators of one phase and shows the one with the most bytes, so that no peak is hidden.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/step/timeline.h"
#include "program/program.h"

namespace elixir::memory {

struct TimelineBucket {
  program::OperatorId first = 0;
  program::OperatorId end = 0;    ///< one past the last
  program::OperatorId shown = 0;  ///< the first operator with the bucket's most allocated bytes
};

/// At most `limit` (>= 2) buckets of equal width; the last of each phase may be narrower. Every
/// operator is in exactly one bucket.
[[nodiscard]] std::vector<TimelineBucket> timeline_buckets(const program::Program& program,
                                                           const Timeline& timeline,
                                                           std::size_t limit);

/// The first backward operator; the number of operators when there is none.
[[nodiscard]] program::OperatorId first_backward(const program::Program& program);

}  // namespace elixir::memory
