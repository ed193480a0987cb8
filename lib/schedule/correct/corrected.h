// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A machine's figures, corrected by a step that was run on it. Each figure is measured by itself,
// in memory of its own, while the machine does nothing else. A step uses them all at once, in its
// own memory, and beside whatever else the host does. So a step's time, and which plan is best, can
// be predicted better once a plan has been run.

#include <vector>

#include "hardware/hardware_profile.h"
#include "plan/plan.h"
#include "program/program.h"
#include "schedule/correct/timed_step.h"

namespace elixir::schedule {

/// One kind of work.
struct Correction {
  Work work = Work::kOperators;
  double predicted_ns = 0;  ///< by the figures as they were
  double measured_ns = 0;
  double corrected_ns = 0;  ///< by the figures as they are now
  double factor = 1;        ///< by which the figure's time has become longer, at most four
};
struct Corrected {
  hardware::HardwareProfile hardware;
  std::vector<Correction> corrections;  ///< of work that takes a noticeable part of the step
  double predicted_step_ns = 0, corrected_step_ns = 0;
};

/// `hardware` with the rates of that work changed until the simulation of `plan` takes as long for
/// it as `measured` says, or four times as long as before. No rate becomes higher. A pass of AdamW
/// that takes less than a tenth of AdamW's time on the cores, or none, is changed by the mean
/// factor of the others. What works take beside each other stays as measured. `program` is the one
/// that runs under the plan. Throws kJsonMissingKey when `hardware` lacks a figure.
[[nodiscard]] Corrected corrected(const hardware::HardwareProfile& hardware,
                                  const program::Program& program,
                                  const plan::Plan& plan,
                                  const Schedule& schedule,
                                  const WorkTimes& measured);

}  // namespace elixir::schedule
