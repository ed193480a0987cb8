// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/profile/steps.h"

#include <utility>

#include <fmt/format.h>

#include "core/interrupt.h"
#include "core/json.h"
#include "hardware/hardware_profile.h"
#include "program/workspace_answers.h"
#include "tools/common/ask_cudnn.h"
#include "tools/common/isolation.h"

namespace elixir::tools {

Steps::Steps(const ProfileOptions& options, Context& context)
    : options_(options),
      argv_(context.argv()),
      allocator_(allocator_config(options)),
      workspaces_(options.target.kind == program::Target::Kind::kCuda
                      ? operators::shipped_workspace_table(options.target.sm)
                      : operators::WorkspaceTable{}),
      wanted_(capture_options(options)),
      model_(open_model(options.model, options.isolation, context)) {}

Steps::Step Steps::capture(std::optional<std::int64_t> batch) {
  throw_if_interrupted();
  wanted_.batch = batch;
  model::Captured captured = model_.capture(wanted_, model::Constants::kLeaveOut);
  Step step;
  step.warnings = std::move(captured.warnings);
  program::Profile& profile = step.profile;
  profile.model_path = options_.model;
  profile.program = std::move(captured.program);
  profile.optimizer = options_.optimizer;
  profile.optimizer_form = options_.optimizer_form;
  profile.clips_gradients = options_.optimizer_use().clips;
  if (options_.cudnn == "auto") {
    const CudnnAnswers asked =
        ask_cudnn(profile.program,
                  workspaces_,
                  options_.measure ? AskAbout::kGpuHere : AskAbout::kDescribedGpu);
    profile.program.workspaces = asked.answers;
    if (!asked.failure.empty()) {
      step.warnings.push_back(
          fmt::format("the workspaces of convolutions are guessed: {}", asked.failure));
    }
  }
  step.prediction = memory::predict_step(
      profile.program, options_.optimizer_use(), workspaces_, allocator_, options_.gpus);
  profile.memory = step.prediction.memory;
  profile.unattributed_operators = captured.unattributed_operators;
  profile.meta = make_meta("elixir-profile", argv_);
  remember(profile);
  return step;
}

search::RecomputationSavings Steps::savings(const Step& step) const {
  throw_if_interrupted();
  const auto hardware = hardware::shipped_hardware_of(step.profile.program.target);
  return search::recomputation_savings(
      step.profile.program,
      hardware ? &*hardware : nullptr,
      [this](const program::Program& edited) {
        return memory::predict_step(
                   edited, options_.optimizer_use(), workspaces_, allocator_, options_.gpus)
            .memory.peak_allocated_bytes;
      });
}

std::optional<std::int64_t> Steps::batch_of(const program::Program& program) {
  if (program.inputs.empty() || program.inputs[0].tensor.sizes.empty()) return std::nullopt;
  return program.inputs[0].tensor.sizes[0];
}

void Steps::remember(const program::Profile& profile) {
  if (const auto batch = batch_of(profile.program)) {
    peaks_[*batch] = memory::batch_peak(profile.memory);
  }
}

memory::BatchPeak Steps::peak_at(std::int64_t batch) {
  if (const auto found = peaks_.find(batch); found != peaks_.end()) return found->second;
  return memory::batch_peak(capture(batch).profile.memory);
}

}  // namespace elixir::tools
