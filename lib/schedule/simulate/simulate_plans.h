// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Simulation of many plans of one program, for a search. What is the same under every plan is found
// once, and no schedule is kept in memory. The results equal simulate.h's.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/operator_cost.h"
#include "plan/plan.h"
#include "program/lifetimes.h"
#include "program/program.h"
#include "schedule/schedule.h"
#include "schedule/simulate.h"
#include "schedule/step_needs.h"

namespace elixir::schedule {

/// A storage comes or goes on the device.
struct DeviceChange {
  std::int64_t bytes = 0;  ///< rounded up to 512; negative when it goes
  program::Category category = program::Category::kTemporary;
};

/// What operators' storages change on the device, by operator, in one piece of memory.
class DeviceChanges {
 public:
  DeviceChanges(const program::Program& program, const program::Lifetimes& lifetimes);
  /// What libraries keep for the process, such as cuBLAS's workspaces.
  [[nodiscard]] std::int64_t library_bytes() const { return library_bytes_; }
  [[nodiscard]] std::span<const DeviceChange> when_it_starts(program::OperatorId op) const {
    return between(2 * static_cast<std::size_t>(op));
  }
  [[nodiscard]] std::span<const DeviceChange> when_it_ends(program::OperatorId op) const {
    return between(2 * static_cast<std::size_t>(op) + 1);
  }

 private:
  [[nodiscard]] std::span<const DeviceChange> between(std::size_t i) const {
    return {changes_.data() + begin_[i], changes_.data() + begin_[i + 1]};
  }
  std::vector<DeviceChange> changes_;
  std::vector<std::uint32_t> begin_;  ///< start and end of each operator; one more at the end
  std::int64_t library_bytes_;
};

/// The simulation of lower()'s schedule, without the schedule in memory. To compare many plans of
/// one program, compute `needs` and `changes` once; `places` says where the plan puts its
/// parameters.
[[nodiscard]] Simulation lower_and_simulate(const program::Program& program,
                                            const program::Lifetimes& lifetimes,
                                            const ProgramNeeds& needs,
                                            const DeviceChanges& changes,
                                            const plan::Plan& plan,
                                            const std::vector<plan::Place>& places,
                                            const LoweringOptions& options,
                                            const hardware::CostModel& cost,
                                            const OperatorCosts& operators);

}  // namespace elixir::schedule
