// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Callbacks of a run. All calls come from the training thread, between steps. An exception from an
// observer ends the run.

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/step_report.h"

namespace elixir::train {

/// A finished step.
struct StepRecord {
  std::int64_t step = 0;  ///< from 1
  runtime::StepReport report;
  std::optional<double> held_out_loss;  ///< measured after this step
};

/// The default implementations do nothing.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// While weights are filled: the share of bytes done, and the next parameter.
  virtual void filling(double /*done_fraction*/, const std::string& /*parameter*/) {}
  virtual void filled() {}
  /// Before the first step of a run with held-out data.
  virtual void evaluated_untrained(double /*held_out_loss*/) {}
  /// Called after the step's line of metrics.jsonl is written.
  virtual void step_done(const StepRecord& /*record*/) {}
  virtual void writing_checkpoint(std::int64_t /*step*/, double /*done_fraction*/) {}
  /// After an interrupt. The checkpoint of step `steps_done` is written next.
  virtual void stopping(std::int64_t /*steps_done*/) {}
};

}  // namespace elixir::train
