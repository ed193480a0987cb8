// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Changes the figures of a hardware profile that predict one kind of work.

#include <set>
#include <string>
#include <vector>

#include "hardware/hardware_profile.h"
#include "plan/plan.h"
#include "program/program.h"
#include "schedule/correct/timed_step.h"

namespace elixir::schedule {

/// `profile` and `plan` must outlive it.
class Figures {
 public:
  Figures(hardware::HardwareProfile& profile,
          const program::Program& program,
          const plan::Plan& plan);

  /// So that the work takes `factor` times as long: operators of the program; links of as many GPUs
  /// as the plan has on a machine, or fewer; a pass of AdamW in all its forms on the cores with the
  /// plan's dtype of moments, also in forms that the plan does not use, and in all other dtypes
  /// that have a rate.
  void take_longer(Work work, double factor);

 private:
  void scale_link(std::vector<hardware::LinkRate>& rates, double factor) const;
  void scale_updates(hardware::AdamWrites writes, double factor);
  void add_derived_forms();
  [[nodiscard]] bool has_rate(const hardware::AdamFormRate& form) const;

  hardware::HardwareProfile& profile_;
  const plan::Plan& plan_;
  std::set<std::string> calls_;
  bool derived_forms_added_ = false;
};

}  // namespace elixir::schedule
