// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A gradient that an operator has completed, as it is handed from class to class in this folder.

#include <cstdint>

#include "schedule/schedule.h"

namespace elixir::schedule {

/// The gradient of one parameter in one micro-batch.
struct ReadyGradient {
  std::int32_t parameter = -1;
  std::int32_t chunk = -1;
  int micro_batch = 0;
  TaskId made_by = -1;        ///< the compute task with the operator
  bool is_last = false;       ///< of the last micro-batch: with it the step's sum is complete
  bool sums_squares = false;  ///< whoever completes the sum adds up its squares, for clipping
};

}  // namespace elixir::schedule
