// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A timeline of many operators in few steps, for pictures: each bucket stands for consecutive
// operators of one phase and shows the one with most bytes, so that no peak is ever hidden.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/step/timeline.h"
#include "program/program.h"

namespace elixir::memory {

struct TimelineBucket {
  program::OperatorId first = 0;
  program::OperatorId end = 0;    ///< one past the last
  program::OperatorId shown = 0;  ///< the first with the bucket's most allocated bytes
};

/// At most `limit` (>= 2) buckets of equal width but for the last of each phase. Every operator is
/// in exactly one.
[[nodiscard]] std::vector<TimelineBucket> timeline_buckets(const program::Program& program,
                                                           const Timeline& timeline,
                                                           std::size_t limit);

/// The first backward operator; the number of operators when there is none.
[[nodiscard]] program::OperatorId first_backward(const program::Program& program);

}  // namespace elixir::memory
