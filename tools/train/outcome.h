// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a run leaves besides its checkpoints: the exported model, summary.json, trace.json, and the
// final output on the screen.

#include <array>
#include <optional>
#include <vector>

#include "core/json.h"
#include "schedule/schedule.h"
#include "schedule/simulate/critical_path.h"
#include "tools/common/run_tool.h"
#include "tools/train/inputs.h"
#include "tools/train/measurements.h"
#include "tools/train/options.h"
#include "tools/train/place.h"
#include "tools/train/prediction.h"
#include "train/run/training_run.h"

namespace elixir::tools {

/// Everything that a summary reports. A dry run has no measurements.
struct RunFacts {
  const TrainOptions& options;
  const RunPlace& place;
  const TrainInputs& inputs;
  const Prediction& prediction;
  Measurements measurements;
  train::RunResult result;
  std::vector<schedule::CriticalPath> critical_paths = {};  ///< measured, by rank
  /// Measured, of rank 0: how much later than they could a stream's tasks began.
  std::optional<std::array<double, schedule::kStreamCount>> late_ns = {};
  bool exported = false;
};

/// `ended`: "finished", "interrupted" or "dry-run".
[[nodiscard]] Json summary_of(const RunFacts& facts, const char* ended, const Context& context);

/// Exports a finished run, writes the summary and the trace, and compares prediction and
/// measurement.
void conclude(RunFacts facts, train::TrainingRun& run, Context& context);

}  // namespace elixir::tools
