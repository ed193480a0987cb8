// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Formats a step as one line of metrics.jsonl (docs/formats).

#include <optional>

#include "core/json.h"
#include "train/run/run_observer.h"
#include "train/run/run_setup.h"

namespace elixir::train {

/// `record` with the current time.
[[nodiscard]] Json metrics_line(const StepRecord& record, const RunInputs& inputs);

/// nullopt when rows are samples, or when the measured time is zero.
[[nodiscard]] std::optional<double> tokens_per_s(const RunInputs& inputs, double step_ns);

}  // namespace elixir::train
