// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/correct/corrected.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "hardware/operator_cost.h"
#include "program/lifetimes.h"
#include "schedule/correct/figures.h"

namespace elixir::schedule {
namespace {

using hardware::HardwareProfile;

/// Less than this part of a step is not worth correcting, nor exact.
constexpr double kNoticeablePart = 0.01;
/// Less than this part of AdamW's time on the cores says little about a pass: a few chunks beside
/// whatever a step begins with.
constexpr double kTellingPart = 0.1;
constexpr std::array kUpdates = {Work::kUpdate, Work::kUpdateParameters, Work::kUpdateMoments};

double& of(WorkTimes& times, Work work) {
  return times[static_cast<std::size_t>(work)];
}
double of(const WorkTimes& times, Work work) {
  return times[static_cast<std::size_t>(work)];
}

/// By how much each kind of work takes longer than the figures said. A pass of AdamW that takes
/// little has the mean factor of the others.
class Factors {
 public:
  /// `telling` are works that have a factor of their own.
  Factors(Figures figures, const WorkTimes& measured, std::vector<Work> telling)
      : figures_(std::move(figures)), measured_(measured), telling_(std::move(telling)) {
    factors_.fill(1);
  }

  [[nodiscard]] double factor(Work work) const { return of(factors_, work); }

  /// Changes figures by what the simulated times `now` are still off. False when all are close
  /// enough.
  bool approach(const WorkTimes& now) {
    WorkTimes wanted = factors_;
    for (const Work work : telling_) {
      of(wanted, work) =
          std::clamp(of(factors_, work) * of(measured_, work) / of(now, work), kLeast, kMost);
    }
    const double of_updates = mean_of_updates(wanted);
    for (const Work work : kUpdates) {
      if (!tells(work)) of(wanted, work) = of_updates;
    }
    bool changed = false;
    for (const auto& [work, name] : kWorks.entries) {
      const double change = of(wanted, work) / of(factors_, work);
      if (std::abs(change - 1) < kCloseEnough) continue;
      changed = true;
      figures_.take_longer(work, change);
      of(factors_, work) = of(wanted, work);
    }
    return changed;
  }

 private:
  /// Nothing is faster in a step than alone. Work that took less than predicted had less beside it,
  /// as the same work of another plan need not have.
  static constexpr double kLeast = 1, kMost = 4;
  static constexpr double kCloseEnough = 0.005;

  [[nodiscard]] bool tells(Work work) const {
    return std::find(telling_.begin(), telling_.end(), work) != telling_.end();
  }

  /// Mean factor of the updates that tell, weighed by the time that they took; 1 when none tells.
  [[nodiscard]] double mean_of_updates(const WorkTimes& wanted) const {
    double measured_ns = 0, before_ns = 0;
    for (const Work work : kUpdates) {
      if (!tells(work)) continue;
      measured_ns += of(measured_, work);
      before_ns += of(measured_, work) / of(wanted, work);
    }
    return before_ns > 0 ? measured_ns / before_ns : 1;
  }

  Figures figures_;
  WorkTimes measured_, factors_{};
  std::vector<Work> telling_;
};

}  // namespace

Corrected corrected(const HardwareProfile& hardware,
                    const program::Program& program,
                    const plan::Plan& plan,
                    const Schedule& schedule,
                    const WorkTimes& measured) {
  // Work slows other work down, so one round does not do. Each comes closer.
  constexpr int kMostRounds = 12;
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const auto simulated = [&](const HardwareProfile& profile) {
    return simulate(
        schedule,
        program,
        lifetimes,
        plan,
        hardware::CostModel(
            profile,
            {.world = plan.world, .per_node = plan.ranks_per_node, .replicas = plan.replicas}));
  };
  Corrected result{.hardware = hardware};
  Simulation simulation = simulated(hardware);
  result.predicted_step_ns = simulation.step_ns;
  WorkTimes now = work_times(schedule, program, plan, simulation.tasks);
  const double least_ns = kNoticeablePart * simulation.step_ns;
  double updates_ns = 0;
  for (const Work work : kUpdates) updates_ns += of(measured, work);
  std::vector<Work> telling;
  for (const auto& [work, name] : kWorks.entries) {
    if (of(now, work) < least_ns || of(measured, work) < least_ns) continue;
    result.corrections.push_back(
        {.work = work, .predicted_ns = of(now, work), .measured_ns = of(measured, work)});
    const bool is_update = std::find(kUpdates.begin(), kUpdates.end(), work) != kUpdates.end();
    if (!is_update || of(measured, work) >= kTellingPart * updates_ns) telling.push_back(work);
  }
  Factors factors(Figures(result.hardware, program, plan), measured, std::move(telling));
  for (int round = 0; round < kMostRounds && factors.approach(now); ++round) {
    simulation = simulated(result.hardware);
    now = work_times(schedule, program, plan, simulation.tasks);
  }
  for (Correction& correction : result.corrections) {
    correction.corrected_ns = of(now, correction.work);
    correction.factor = factors.factor(correction.work);
  }
  result.corrected_step_ns = simulation.step_ns;
  return result;
}

}  // namespace elixir::schedule
