// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Predicted against measured: one row a figure, and a sentence for each promise that was not kept.
// Measured memory comes from the allocator, measured time from clocks, never from the schedule.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "plan/plan.h"
#include "runtime/trainer.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"

namespace elixir::tools {

/// Figures of one step.
struct StepFigures {
  double step_ns = 0;
  std::array<std::optional<double>, schedule::kStreamCount> busy_ns{};
  std::int64_t peak_device_bytes = 0, host_bytes = 0;
  plan::Traffic traffic;
};
[[nodiscard]] StepFigures predicted_by(const plan::Plan& plan);
[[nodiscard]] StepFigures predicted_by(const schedule::Simulation& simulation);

/// Collects steps: times as medians (the first step, which warms up, left out when there are
/// others), memory as the largest, traffic as the last.
class Measurements {
 public:
  void add(const runtime::StepReport& report);
  [[nodiscard]] bool empty() const { return step_ns_.empty(); }
  [[nodiscard]] StepFigures figures() const;

 private:
  std::vector<double> step_ns_;
  std::array<std::vector<double>, schedule::kStreamCount> busy_ns_;
  std::int64_t peak_device_bytes_ = 0, host_bytes_ = 0;
  plan::Traffic traffic_;
};

inline constexpr double kPromisedStepTimeShare = 0.15;

struct Comparison {
  StepFigures predicted, measured;
  std::vector<std::string> broken;  ///< promises not kept, for people
};
[[nodiscard]] Comparison compare(const StepFigures& predicted,
                                 const StepFigures& measured,
                                 runtime::DeviceKind device);

[[nodiscard]] std::string table_of(const Comparison& comparison);
[[nodiscard]] Json to_json(const StepFigures& figures);

}  // namespace elixir::tools
