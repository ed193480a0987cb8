// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/prediction.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/log.h"
#include "hardware/hardware_profile.h"
#include "hardware/operator_cost.h"
#include "schedule/schedule.h"
#include "schedule/simulate/uncertainty.h"

namespace elixir::tools {
namespace {

/// Of one of the plan's ranks: its part of the links, cores and collectives.
hardware::CostModel cost_model(const hardware::HardwareProfile& profile, const plan::Plan& plan) {
  return hardware::CostModel(
      profile, {.world = plan.world, .per_node = plan.ranks_per_node, .replicas = plan.replicas});
}

/// The hardware document of the machine for which the plan was made: --hardware, or a shipped one.
std::optional<hardware::HardwareProfile> hardware_of(const plan::Plan& plan,
                                                     const TrainOptions& options,
                                                     Context& context) {
  std::optional<hardware::HardwareProfile> found;
  if (options.hardware) {
    found = hardware::load_hardware(*options.hardware);
    if (hardware::fingerprint(*found) != plan.hardware.fingerprint) {
      context.warn("--hardware is not the document the plan was made with",
                   {"predictions are for --hardware; search again to plan with it"});
    }
    return found;
  }
  for (const std::string& name : hardware::shipped_profiles()) {
    auto profile = hardware::load_shipped(name);
    if (profile && hardware::fingerprint(*profile) == plan.hardware.fingerprint) found = profile;
  }
  return found;
}

schedule::RunMemory memory_of(const TrainInputs& inputs,
                              const schedule::Schedule& schedule,
                              const std::optional<hardware::HardwareProfile>& known) {
  const train::RunInputs& run = inputs.run;
  const bool cuda = run.device == runtime::DeviceKind::kCuda;
  const hardware::HardwareProfile profile =
      known ? *known : hardware::load_hardware(cuda ? "h200" : "cpu");
  if (!known && run.held_out && !cuda) {
    log::info(
        "memory of evaluation is counted without operators' workspaces: only the plan's "
        "--hardware knows them");
  }
  return schedule::run_memory(
      run.plan,
      inputs.running,
      schedule,
      run.plan.predicted.peak_allocated_bytes,
      run.held_out ? &run.held_out->program.program : nullptr,
      cost_model(profile, run.plan),
      known ? schedule::Workspaces::kOfHardware : schedule::Workspaces::kNotCounted);
}

}  // namespace

Prediction predict(const TrainOptions& options, const TrainInputs& inputs, Context& context) {
  const train::RunInputs& run = inputs.run;
  Prediction prediction;
  prediction.figures = report::predicted_by(run.plan);
  const auto hardware = hardware_of(run.plan, options, context);
  schedule::LoweringOptions lowering;
  lowering.clip_gradients = plan::waits_for_norm(run.plan.edits, options.clip_norm);
  const schedule::Schedule schedule =
      schedule::lower(inputs.running, inputs.lifetimes, run.plan, lowering);
  if (hardware) {
    prediction.simulation = schedule::simulate(
        schedule, inputs.running, inputs.lifetimes, run.plan, cost_model(*hardware, run.plan));
    prediction.figures = report::predicted_by(*prediction.simulation, schedule);
    const schedule::Uncertainty uncertainty = schedule::uncertainty(
        inputs.running, inputs.lifetimes, run.plan, prediction.simulation->traffic, *hardware);
    prediction.figures.spread = uncertainty.spread;
    prediction.figures.disturbed = uncertainty.disturbed;
  }
  prediction.memory = memory_of(inputs, schedule, hardware);
  prediction.figures.peak_device_bytes += prediction.memory.evaluation.own_device_bytes;
  prediction.figures.host_bytes += prediction.memory.evaluation.own_host_bytes;
  if (run.device == runtime::DeviceKind::kCuda) {
    prediction.figures.gpu_memory_bytes =
        std::max(prediction.memory.training_gpu_bytes, prediction.memory.evaluation_gpu_bytes);
  }
  return prediction;
}

}  // namespace elixir::tools
