// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Compares a predicted step with the same step as measured: one row per figure, and a sentence for
// each broken promise. Only figures that rest on measurements are promised. If the time and
// workspace of some calls are modelled, the step's time is not promised and its peak is an upper
// bound. No time is promised that rests on figures that other programs disturbed, or that spread by
// more than the promise allows.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "schedule/simulate/critical_path.h"

namespace elixir::report {

/// The figures of one step.
struct StepFigures {
  double step_ns = 0;
  /// Measured, and only where tasks were timed in some of the steps alone: how many, and what these
  /// took. `busy_ns` is theirs, `step_ns` that of all.
  struct TimedSteps {
    std::int64_t count = 0;
    double step_ns = 0;
  };
  std::optional<TimedSteps> timed;
  std::array<std::optional<double>, schedule::kStreamCount> busy_ns{};
  std::optional<schedule::CriticalPath> critical_path;
  /// Measured: how much later than they could a stream's tasks began
  /// (schedule/simulate/lateness.h).
  std::optional<std::array<double, schedule::kStreamCount>> late_ns;
  std::int64_t peak_device_bytes = 0, host_bytes = 0;
  /// Memory in use on the GPU: predicted for one process, measured for all processes; nullopt on
  /// the CPU device.
  std::optional<std::int64_t> gpu_memory_bytes;
  plan::Traffic traffic;
  /// For a prediction: calls with measured time and workspace, out of all that run.
  std::int64_t operators_measured = 0, operators_total = 0;
  /// For a prediction: how far its time may be trusted (schedule/simulate/uncertainty.h).
  double spread = 0;
  std::vector<std::string> disturbed;
};
[[nodiscard]] StepFigures predicted_by(const plan::Plan& plan);
[[nodiscard]] StepFigures predicted_by(const schedule::Simulation& simulation,
                                       const schedule::Schedule& schedule);

inline constexpr double kPromisedStepTimeShare = 0.15;

struct StepComparison {
  StepFigures predicted, measured;
  /// What was promised, on one line: "the step's time within 15 %, the device peak to the byte".
  std::string promised;
  std::vector<std::string> broken;  ///< broken promises, as text for people
};

/// `counted`: the device counts every byte that it allocates (the CPU device). Only then can a peak
/// be promised.
[[nodiscard]] StepComparison compare_steps(const StepFigures& predicted,
                                           const StepFigures& measured,
                                           bool counted);

/// One row per figure, then the critical path and what was promised.
[[nodiscard]] std::string table_of(const StepComparison& comparison);

}  // namespace elixir::report
