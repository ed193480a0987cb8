// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Steps whose tasks run one at a time, as on the CPU device without lanes.

#include <span>

#include "schedule/simulate.h"

namespace elixir::schedule {

/// Whether all tasks ran in issue order, each when the one before it had ended, and no step beside
/// the next. `times`, by task id, are of one step; there must be some.
[[nodiscard]] bool one_after_another(std::span<const TaskTime> times, double step_ns);

}  // namespace elixir::schedule
