// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares predicted requests to the allocator with recorded ones, and finds the first difference.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "memory/recorded/trace.h"
#include "memory/step/training_events.h"

namespace elixir::memory {

struct EventDifference {
  std::size_t event = 0;        ///< number of equal events before it
  int step = 0;                 ///< step of the prediction, from 1; 0 before the first
  program::OperatorId at = -1;  ///< the running call in the prediction; -1 outside of calls
  /// "a request of 4,096 bytes", "the end of a request of 512 bytes", "nothing more".
  std::string predicted, recorded;
};

/// nullopt when all are equal. Compares only requests (by the bytes asked for) and releases (by the
/// request they end). Releases between two requests may come in any order, because their order has
/// no effect.
[[nodiscard]] std::optional<EventDifference> first_difference(
    const TrainingEvents& predicted, const std::vector<RecordedEvent>& recorded);

}  // namespace elixir::memory
