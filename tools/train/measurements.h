// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Collects what a run measured, to compare it with its prediction. Measured memory comes from the
// allocator, measured time from clocks; neither comes from the schedule.

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "report/screen/step_comparison.h"
#include "runtime/step_report.h"
#include "runtime/trainer_options.h"

namespace elixir::tools {

using report::predicted_by;
using report::StepComparison;
using report::StepFigures;
using report::table_of;

/// Collects steps. Times are medians (without the first step, a warm-up, if there are others),
/// memory is the maximum, traffic is that of the last step.
class Measurements {
 public:
  void add(const runtime::StepReport& report);
  [[nodiscard]] bool empty() const { return step_ns_.empty(); }
  [[nodiscard]] std::int64_t steps() const { return std::ssize(step_ns_); }
  [[nodiscard]] StepFigures figures() const;

 private:
  std::vector<double> step_ns_;
  std::vector<double> timed_step_ns_;  ///< of the steps with busy times
  std::array<std::vector<double>, schedule::kStreamCount> busy_ns_;
  std::int64_t peak_device_bytes_ = 0, host_bytes_ = 0;
  std::optional<std::int64_t> gpu_memory_bytes_;
  plan::Traffic traffic_;
};

/// Only the CPU device counts every byte. On a GPU, LibTorch's allocator has its own limits.
[[nodiscard]] inline StepComparison compare(const StepFigures& predicted,
                                            const StepFigures& measured,
                                            runtime::DeviceKind device) {
  return report::compare_steps(predicted, measured, device == runtime::DeviceKind::kCpu);
}

[[nodiscard]] Json to_json(const StepFigures& figures);

}  // namespace elixir::tools
