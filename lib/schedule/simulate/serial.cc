// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/simulate/serial.h"

#include <algorithm>

namespace elixir::schedule {

bool one_after_another(std::span<const TaskTime> times, double step_ns) {
  return times.back().end_ns - times.front().start_ns <= step_ns &&
         std::adjacent_find(times.begin(), times.end(), [](const TaskTime& a, const TaskTime& b) {
           return b.start_ns < a.end_ns;
         }) == times.end();
}

}  // namespace elixir::schedule
