// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "schedule/correct/corrected.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "hardware/operator_cost.h"
#include "hardware/rate_dtypes.h"
#include "operators/operator_key.h"
#include "plan/rank_grid.h"
#include "program/lifetimes.h"

namespace elixir::schedule {
namespace {

using hardware::AdamWrites;
using hardware::Figure;
using hardware::HardwareProfile;

/// Less than this part of a step is not worth correcting, nor exact.
constexpr double kNoticeablePart = 0.01;

void scale(Figure& figure, double factor) {
  constexpr std::string_view kNote = ", corrected by a run";
  figure.median *= factor;
  if (figure.method.find(kNote) == std::string::npos) figure.method += kNote;
}

/// Changes figures so that work takes so much longer.
class Figures {
 public:
  Figures(HardwareProfile& profile, const program::Program& program, const plan::Plan& plan)
      : profile_(profile), plan_(plan) {
    for (const program::Operator& op : program.operators)
      calls_.insert(operators::operator_key(op));
  }

  void take_longer(Work work, double factor) {
    switch (work) {
      case Work::kOperators:
        for (hardware::OperatorTime& time : profile_.operators) {
          if (calls_.count(time.key) > 0) scale(time.time_ns, factor);
        }
        return;
      case Work::kToDevice:
        return scale_link(profile_.links.host_to_device, factor);
      case Work::kToHost:
        return scale_link(profile_.links.device_to_host, factor);
      case Work::kUpdate:
        return scale_updates(AdamWrites::kAll, factor);
      case Work::kUpdateParameters:
        return scale_updates(AdamWrites::kParameters, factor);
      case Work::kUpdateMoments:
        return scale_updates(AdamWrites::kMoments, factor);
    }
  }

 private:
  void scale_link(std::vector<hardware::LinkRate>& rates, double factor) const {
    for (hardware::LinkRate& rate : rates) {
      if (rate.gpus <= plan_.ranks_per_node) scale(rate.bytes_per_s, 1 / factor);
    }
  }

  /// Of each form that the cores carry out under the plan. What is left to a form without a rate of its
  /// own follows the plain one.
  void scale_updates(AdamWrites writes, double factor) const {
    std::set<std::pair<std::string, bool>> forms;  // gradients' dtype, split master
    for (const plan::Chunk& chunk : plan_.chunks) {
      if (chunk.optimizer_home != plan::Home::kHost) continue;
      // The moments alone are the same whatever the master is.
      const bool split = writes != AdamWrites::kMoments && plan::splits_master(plan_, chunk);
      forms.emplace(hardware::kRateDTypes.name_of(chunk.gradient_dtype), split);
    }
    for (const auto& [dtype, split] : forms) scale_form(dtype, split, writes, factor);
  }

  void scale_form(const std::string& dtype, bool split, AdamWrites writes, double factor) const {
    const std::string master = split ? "split" : "separate";
    const std::string moments(hardware::kRateDTypes.name_of(plan_.moment_dtype));
    bool found = false;
    for (hardware::AdamFormRate& rate : profile_.adam_forms) {
      if (rate.device != "cpu" || rate.gradient != dtype || rate.moments != moments ||
          rate.master != master || rate.writes != writes) {
        continue;
      }
      scale(rate.params_per_s, 1 / factor);
      found = true;
    }
    const bool plain = !split && writes == AdamWrites::kAll && moments == "fp32";
    if (found && !plain) return;
    for (hardware::AdamRate& rate : profile_.adam_cpu) {
      if (rate.dtype == dtype) scale(rate.params_per_s, 1 / factor);
    }
  }

  HardwareProfile& profile_;
  const plan::Plan& plan_;
  std::set<std::string> calls_;
};

}  // namespace

Corrected corrected(const HardwareProfile& hardware,
                    const program::Program& program,
                    const plan::Plan& plan,
                    const Schedule& schedule,
                    const WorkTimes& measured) {
  // Work slows other work down, so one round does not do. Each comes closer.
  constexpr int kMostRounds = 12;
  constexpr double kCloseEnough = 0.005, kMost = 4;
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
  for (std::size_t i = 0; i < kWorkCount; ++i) {
    const double least_ns = kNoticeablePart * simulation.step_ns;
    if (now[i] < least_ns || measured[i] < least_ns) continue;
    result.corrections.push_back({.work = static_cast<Work>(i),
                                  .predicted_ns = now[i],
                                  .measured_ns = measured[i],
                                  .corrected_ns = now[i]});
  }
  Figures figures(result.hardware, program, plan);
  for (int round = 0; round < kMostRounds; ++round) {
    bool close = true;
    for (Correction& it : result.corrections) {
      const double wanted = it.factor * it.measured_ns / it.corrected_ns;
      const double change = std::clamp(wanted, 1 / kMost, kMost) / it.factor;
      if (std::abs(change - 1) < kCloseEnough) continue;
      close = false;
      figures.take_longer(it.work, change);
      it.factor *= change;
    }
    if (close) break;
    simulation = simulated(result.hardware);
    now = work_times(schedule, program, plan, simulation.tasks);
    for (Correction& correction : result.corrections) {
      correction.corrected_ns = now[static_cast<std::size_t>(correction.work)];
    }
  }
  result.corrected_step_ns = simulation.step_ns;
  return result;
}

}  // namespace elixir::schedule
