// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Predicted requests to the allocator against recorded ones, one by one: where do they part?

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "memory/recorded/trace.h"
#include "memory/step/training_events.h"

namespace elixir::memory {

struct EventDifference {
  std::size_t event = 0;        ///< how many are equal before it
  int step = 0;                 ///< of the prediction, from 1; 0 before the first
  program::OperatorId at = -1;  ///< its call; -1 outside of calls
  /// "a request of 4,096 bytes", "the end of a request of 512 bytes", "nothing more".
  std::string predicted, recorded;
};

/// Nullopt when all are equal. Only requests and releases count, by bytes asked for and by which
/// request a release ends; releases between two requests may come in any order, because they change
/// nothing for one another.
[[nodiscard]] std::optional<EventDifference> first_difference(
    const TrainingEvents& predicted, const std::vector<RecordedEvent>& recorded);

}  // namespace elixir::memory
