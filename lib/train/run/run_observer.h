// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What a run tells while it works. All calls come from the thread that trains, between steps; what
// an observer throws ends the run.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/step_report.h"

namespace elixir::train {

/// One step that is done.
struct StepRecord {
  std::int64_t step = 0;  ///< from 1
  double learning_rate = 0;
  runtime::StepReport report;
  std::optional<double> held_out_loss;  ///< measured after this step
};

/// Each call may be left out.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// While weights are filled: the share of bytes done and the parameter that comes next.
  virtual void filling(double /*done_fraction*/, const std::string& /*parameter*/) {}
  virtual void filled() {}
  /// Before the first step of a run with held-out data.
  virtual void evaluated_untrained(double /*held_out_loss*/) {}
  /// Its line of metrics.jsonl is written.
  virtual void step_done(const StepRecord& /*record*/) {}
  virtual void writing_checkpoint(std::int64_t /*step*/, double /*done_fraction*/) {}
  /// Interrupted: the checkpoint of step `steps_done` is written next.
  virtual void stopping(std::int64_t /*steps_done*/) {}
};

}  // namespace elixir::train
