// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Runs one model's step on this machine's GPU and compares its memory with the prediction.
// `elixir-profile --measure` starts it once for each way of running the step, because the figures
// belong to a whole process. Its flags are elixir-profile's.
#include <string>

#include <fmt/format.h>

#include "core/error.h"
#include "memory/recorded/event_difference.h"
#include "memory/step/training_memory.h"
#include "operators/scratch/call_script.h"
#include "operators/scratch/workspace_table.h"
#include "program/lifetimes.h"
#include "runtime/step_memory.h"
#include "tools/common/ask_cudnn.h"
#include "tools/common/end_process.h"
#include "tools/common/run_tool.h"
#include "tools/profile/options.h"

namespace elixir::tools {
namespace {

constexpr int kSteps = 3;

struct Prediction {
  memory::TrainingEvents events;
  memory::TrainingMemory memory;
  std::optional<std::int64_t> overhead_bytes;
};

Prediction predict(const program::Program& program,
                   const operators::WorkspaceTable& table,
                   const ProfileOptions& options,
                   bool replayed) {
  operators::CudaTraits traits = operators::cuda_traits(program.target);
  traits.backward_has_thread = !replayed;
  Prediction prediction;
  prediction.events = memory::training_events(
      program, options.optimizer, operators::call_scripts(program, traits, table), kSteps);
  prediction.memory = memory::simulate_training(
      prediction.events, allocator_config(options), memory::unlimited_device());
  prediction.overhead_bytes = traits.process_overhead_bytes();
  return prediction;
}

Json place_of(const memory::EventDifference& difference, const program::Program& program) {
  Json place = {{"events_before", difference.event},
                {"step", difference.step},
                {"operator", nullptr},
                {"name", nullptr},
                {"module", nullptr},
                {"predicted", difference.predicted},
                {"measured", difference.recorded}};
  if (difference.at >= 0 && static_cast<std::size_t>(difference.at) < program.operators.size()) {
    const program::Operator& op = program.operators[static_cast<std::size_t>(difference.at)];
    place["operator"] = op.id;
    place["name"] = op.name;
    if (op.module >= 0) place["module"] = program.modules[static_cast<std::size_t>(op.module)];
  }
  return place;
}

Answer work(const ProfileOptions& options, const std::string& how, Context& context) {
  check_profile_options(options, false);
  model::Options wanted = capture_options(options);
  if (!options.batches.empty()) wanted.batch = options.batches.front();
  const capture::Model model = capture::Model::load(options.model);
  capture::Captured captured = capture::capture(model, wanted);
  const operators::WorkspaceTable table =
      operators::shipped_workspace_table(captured.program.target.sm);
  if (options.cudnn == "auto") {
    captured.program.workspaces = ask_cudnn(captured.program, table, AskAbout::kGpuHere).answers;
  }
  const bool replayed = how == "replay";
  const program::Program program =
      replayed ? program::with_replay_lifetimes(captured.program) : captured.program;
  const Prediction prediction = predict(program, table, options, replayed);
  const runtime::MeasuredMemory measured =
      replayed ? runtime::measure_replay(captured, options.optimizer, kSteps)
               : runtime::measure_autograd(model, wanted, program, options.optimizer, kSteps);
  Json predicted = {{"peak_allocated_bytes", prediction.memory.peak_allocated_bytes},
                    {"peak_reserved_bytes", prediction.memory.peak_reserved_bytes},
                    {"process_bytes", nullptr}};
  if (prediction.overhead_bytes) {
    predicted["process_bytes"] = prediction.memory.peak_reserved_bytes + *prediction.overhead_bytes;
  }
  const auto difference = memory::first_difference(prediction.events, measured.events);
  context.document() = {{"how", how},
                        {"device", measured.device},
                        {"steps", kSteps},
                        {"predicted", std::move(predicted)},
                        {"measured",
                         {{"peak_allocated_bytes", measured.peak_allocated_bytes},
                          {"peak_reserved_bytes", measured.peak_reserved_bytes},
                          {"process_bytes", measured.used_bytes}}},
                        {"events", measured.events.size()},
                        {"parts_at", nullptr}};
  if (difference) context.document()["parts_at"] = place_of(*difference, program);
  return Answer::kYes;
}

}  // namespace
}  // namespace elixir::tools

int main(int argc, char** argv) {
  elixir::tools::ProfileOptions options;
  std::string how = "autograd";
  elixir::tools::ToolInfo info;
  info.name = "elixir-measure-step";
  info.summary = "Runs a step on this machine's GPU; part of `elixir-profile --measure`.";
  info.declare = [&](elixir::tools::Flags& flags) {
    declare_step_flags(flags, options);
    flags.choice("--how", {"autograd", "replay"}, &how, "who runs the step");
  };
  const int code = elixir::tools::run_tool(info, argc, argv, [&](elixir::tools::Context& context) {
    return elixir::tools::work(options, how, context);
  });
  elixir::tools::end_process(code);
}
