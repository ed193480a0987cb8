// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// How far a predicted step may be trusted: what of its time rests on figures that spread, or that
// other programs disturbed while they were measured.

#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::schedule {

struct Uncertainty {
  /// By what part of itself the step's time is uncertain: the spread of each figure, weighted by
  /// the time that rests on it, as if all were off to the same side.
  double spread = 0;
  /// Measurements of elixir-bench with disturbed figures behind more than a hundredth of the time,
  /// sorted.
  std::vector<std::string> disturbed;
};
/// `program` is the one that runs, after the plan's edits; `traffic` is that of the plan.
[[nodiscard]] Uncertainty uncertainty(const program::Program& program,
                                      const program::Lifetimes& lifetimes,
                                      const plan::Plan& plan,
                                      const plan::Traffic& traffic,
                                      const hardware::HardwareProfile& profile);

}  // namespace elixir::schedule
