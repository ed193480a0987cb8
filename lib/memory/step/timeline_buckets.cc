// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/timeline_buckets.h"

#include <algorithm>

#include "core/error.h"

namespace elixir::memory {

using program::OperatorId;

OperatorId first_backward(const program::Program& program) {
  const auto found = std::find_if(
      program.operators.begin(), program.operators.end(), [](const program::Operator& op) {
        return op.phase == program::Phase::kBackward;
      });
  return static_cast<OperatorId>(found - program.operators.begin());
}

std::vector<TimelineBucket> timeline_buckets(const program::Program& program,
                                             const Timeline& timeline,
                                             std::size_t limit) {
  require(limit >= 2, "a timeline needs a bucket for each phase");
  require(timeline.allocated_bytes.size() == program.operators.size(),
          "a timeline of another program");
  const auto operators = static_cast<OperatorId>(program.operators.size());
  // Each phase may end in a partly filled bucket, so there may be one more than operators / width.
  const auto wanted = static_cast<OperatorId>(std::max<std::size_t>(limit - 1, 1));
  const OperatorId width = std::max<OperatorId>(1, (operators + wanted - 1) / wanted);
  const OperatorId boundary = first_backward(program);
  std::vector<TimelineBucket> buckets;
  for (OperatorId first = 0; first < operators;) {
    const OperatorId phase_end = first < boundary ? boundary : operators;
    TimelineBucket bucket{first, std::min<OperatorId>(first + width, phase_end), first};
    const auto begin = timeline.allocated_bytes.begin();
    bucket.shown =
        static_cast<OperatorId>(std::max_element(begin + bucket.first, begin + bucket.end) - begin);
    buckets.push_back(bucket);
    first = bucket.end;
  }
  return buckets;
}

}  // namespace elixir::memory
