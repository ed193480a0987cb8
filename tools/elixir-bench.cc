// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-bench: measures this machine and writes a hardware profile.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/version.h>

#include "core/error.h"
#include "core/files.h"
#include "core/interrupt.h"
#include "hardware/hardware_profile.h"
#include "measure/machine/core_watch.h"
#include "measure/machine/gpu_probe.h"
#include "measure/measure.h"
#include "operators/scratch/workspace_table.h"
#include "program/document.h"
#include "replay/replay_call.h"
#include "schedule/edited_program.h"
#include "tools/bench/correct.h"
#include "tools/bench/list.h"
#include "tools/bench/summary.h"
#include "tools/common/ask_cudnn.h"
#include "tools/common/end_process.h"
#include "tools/common/run_tool.h"

namespace elixir::tools {
namespace {

struct Options {
  bool list = false, quick = false;
  std::vector<std::string> only;
  std::vector<std::string> operators;
  std::optional<std::string> into;
  RunToLearnFrom run;
  std::optional<std::string> disk, samples;
  program::DeviceChoice device = program::DeviceChoice::kAuto;
  std::string name;
};

std::vector<std::string> split_commas(const std::vector<std::string>& values) {
  std::vector<std::string> parts;
  for (const std::string& value : values) {
    std::size_t begin = 0;
    while (begin <= value.size()) {
      const std::size_t end = std::min(value.find(',', begin), value.size());
      if (end > begin) parts.push_back(value.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

/// Where to write the profile. With --into but without -o, the file is replaced in place. It is the
/// only output that may be an input.
struct Destination {
  std::string path;
  bool in_place = false;
};

Destination prepare_destination(const Options& options, Context& context) {
  if (options.into && !context.output()) {
    if (!std::filesystem::exists(*options.into) && hardware::load_shipped(*options.into)) {
      throw Error(ErrorCode::kBadFlagValue, "--into `{}` is a shipped document", *options.into)
          .help("say where the new one goes: -o FILE");
    }
    check_output(*options.into, Overwrite::kAllow, "--into");
    return {*options.into, true};
  }
  return {context.prepare_output("hardware.json"), false};
}

/// Adds what cuDNN on this machine's GPU says about the convolutions of the programs.
void ask_for_workspaces(const std::vector<program::Profile>& profiles,
                        hardware::HardwareProfile& hardware,
                        Context& context) {
  if (hardware.device_kind != program::DeviceKind::kCuda) return;
  for (const program::Profile& profile : profiles) {
    const CudnnAnswers asked =
        ask_cudnn(profile.program,
                  operators::shipped_workspace_table(profile.program.target.sm),
                  AskAbout::kGpuHere);
    if (!asked.failure.empty()) {
      context.warn("the workspaces of convolutions are guessed: " + asked.failure);
      return;
    }
    if (asked.answers == nullptr) continue;
    hardware.workspaces = hardware.workspaces
                              ? program::merged(*hardware.workspaces, *asked.answers)
                              : *asked.answers;
  }
}

/// Writes the profile, which is the tool's document.
void write(hardware::HardwareProfile profile, const Destination& destination, Context& context) {
  profile.meta = make_meta("elixir-bench", context.argv());
  context.document() = to_json(profile);
  const std::string text = dump(context.document());
  if (destination.in_place) {
    write_file(destination.path, text, Overwrite::kAllow);
  } else {
    context.write_output(destination.path, text);
  }
}

Answer work(const Options& options, Context& context) {
  if (options.list) {
    measure::Bench bench;
    const bool gpu = !measure::gpu_unavailable() && options.device != program::DeviceChoice::kCpu;
    bench.device = gpu ? measure::DeviceKind::kCuda : measure::DeviceKind::kCpu;
    bench.gpus = gpu ? measure::gpu_count() : 0;
    bench.disk_directory = options.disk;
    const Listing listing = list_measurements(bench);
    context.document() = listing.document;
    context.print(listing.text);
    return Answer::kYes;
  }

  // Find every mistake before the long part.
  const Destination destination = prepare_destination(options, context);
  if (!options.run.directory.empty()) {
    if (!options.into) {
      throw Error(ErrorCode::kBadFlagValue, "--run corrects a hardware profile, and there is none")
          .help("name it with --into");
    }
    hardware::HardwareProfile corrected = correct_by_run(options.run, *options.into, context);
    write(std::move(corrected), destination, context);
    return Answer::kYes;
  }
  const Overwrite overwrite = context.overwrite();
  if (options.samples) check_output(*options.samples, overwrite, "--samples");
  measure::Request request;
  request.disk_directory = options.disk;
  request.device = options.device;
  request.effort = options.quick ? measure::Effort::kQuick : measure::Effort::kFull;
  request.name = options.name;
  if (!options.only.empty()) {
    request.only = split_commas(options.only);
    measure::check_names(*request.only);
  } else if (options.into && !options.operators.empty()) {
    request.only = std::vector<std::string>{};
  }
  if (options.into) request.into = hardware::load_hardware(*options.into);
  std::vector<program::Profile> profiles;
  std::vector<schedule::FusedArithmetic> fused;  // what plans of the other arithmetics run
  profiles.reserve(options.operators.size());
  fused.reserve(2 * options.operators.size());
  for (const std::string& path : options.operators) {
    profiles.push_back(program::load_profile(path));
    replay::refuse_what_is_not_allowed(profiles.back().program, path);
    request.programs.push_back(&profiles.back().program);
    for (const auto arithmetic : {plan::Arithmetic::kFused, plan::Arithmetic::kFusedElementwise}) {
      fused.push_back(schedule::with_fused_arithmetic(profiles.back().program, arithmetic));
      if (!fused.back().edits.empty()) request.programs.push_back(&fused.back().program);
    }
  }

  if (const auto busy = measure::overload()) {
    context.warn(*busy + ": other programs are measured along",
                 {"stop them, or bind this to cores of its own (taskset)"});
  }
  // One sample can take longer than a first signal waits, and what is finished must reach the file.
  const FinishesFirst sample_and_document;
  auto progress = context.progress();
  request.progress = [&](double fraction, std::string_view what) {
    progress->update(fraction, fmt::format("measuring {}", what));
  };
  measure::Outcome outcome = measure::measure(request);
  progress.reset();

  if (options.samples) {
    write_file(*options.samples, measure::json_lines(outcome.samples), overwrite);
  }
  ask_for_workspaces(profiles, outcome.profile, context);
  write(outcome.profile, destination, context);
  context.print(summary_of(outcome.profile));
  if (outcome.interrupted) {
    context.warn("stopped early; the profile holds what was finished", {});
    throw_if_interrupted();
  }
  context.hint(fmt::format("next: elixir-search --profile MODEL.profile.json --hardware {}",
                           destination.path));
  return Answer::kYes;
}

constexpr const char* kDetails =
    "Every figure in the document has its median, its spread (third minus first quartile over\n"
    "the median), the number of samples and the method. Nothing is a constant; what cannot be\n"
    "measured here is left out with the reason, which is not an error. docs/metrics.md\n"
    "explains each figure.\n"
    "\n"
    "--operators runs every distinct operator call of a program on this machine and adds its\n"
    "time and the memory it needs besides its results. Predictions are then made of measured\n"
    "times, and predicted memory on the CPU device is exact. With --into the results join an\n"
    "existing profile of this machine, and that file is replaced unless -o names another.\n"
    "\n"
    "--run corrects the figures by a run of elixir-train: its trace.json says how long tasks\n"
    "take beside each other, in the memory of a training. Search again with the corrected\n"
    "profile.\n"
    "\n"
    "LibTorch's number of threads (OMP_NUM_THREADS) is the number of threads measured with.\n"
    "Measure on an otherwise idle machine. Clocks, power and GPU settings are never changed.";

}  // namespace
}  // namespace elixir::tools

int main(int argc, char** argv) {
  using elixir::tools::Context;
  elixir::tools::Options options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-bench";
  info.summary = "Measures this machine: copies, optimizer, matrix products, a model's operators.";
  info.examples = {
      {"elixir-bench", "measure everything, write hardware.json"},
      {"elixir-bench --operators gpt.profile.json", "the same, and the model's operators"},
      {"elixir-bench --into hardware.json --operators gpt.profile.json", "add a model's operators"},
      {"elixir-bench --quick --only adam-cpu,matmul -o part.json", "two measurements, quickly"},
      {"elixir-bench --disk /mnt/nvme", "the same, and the disk of a directory"},
      {"elixir-bench --run run --plan plan.json --profile gpt.profile.json --into hardware.json",
       "learn from a step that was run"},
      {"elixir-bench --list", "what can be measured, and how"},
  };
  info.output = {
      "FILE", "where to write the hardware profile", "hardware.json, or the file of --into"};
  info.details = elixir::tools::kDetails;
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", TORCH_VERSION}};
  };
  info.declare = [&](elixir::tools::Flags& flags) {
    flags.group("What to measure");
    flags.toggle("--list", &options.list, "say what can be measured and how, measure nothing")
        .brief();
    flags
        .texts("--only",
               "NAME",
               &options.only,
               "only these measurements; repeat, or separate by commas")
        .brief();
    flags.toggle("--quick", &options.quick, "smaller sizes and fewer samples").brief();
    flags
        .texts("--operators",
               "PROFILE",
               &options.operators,
               "also every operator call of this model (MODEL.profile.json of elixir-profile)")
        .reads()
        .brief();
    flags.text("--into", "HARDWARE", &options.into, "add to this hardware profile of this machine")
        .reads()
        .brief();
    flags.choice("--device",
                 elixir::program::kDeviceChoices,
                 &options.device,
                 "device to measure; auto is the GPU if there is one");
    flags.group("What to correct");
    flags
        .text("--run",
              "DIR",
              &options.run.directory,
              "measure nothing; correct the figures of --into by the timed step of this run of "
              "elixir-train")
        .reads();
    flags.text("--plan", "PLAN", &options.run.plan, "the plan of that run").reads();
    flags
        .text("--profile",
              "PROFILE",
              &options.run.profile,
              "the model's profile that the plan was made for")
        .reads();
    flags.group("Output");
    flags.text("--name", "NAME", &options.name, "name of the profile")
        .default_text("cpu, or the GPU's");
    flags
        .text("--disk",
              "DIR",
              &options.disk,
              "also the disk of this directory, by a file of up to 2 GiB")
        .default_text("none");
    flags
        .text("--samples",
              "FILE",
              &options.samples,
              "write every sample of every figure, as JSON lines")
        .writes()
        .default_text("none");
    flags.exclusive({"--list", "--samples"});
    flags.exclusive({"--list", "--only"});
    flags.exclusive({"--list", "--operators"});
    flags.exclusive({"--list", "--into"});
    for (const char* other : {"--list", "--only", "--operators", "--samples"}) {
      flags.exclusive({"--run", other});
    }
  };
  const int code = elixir::tools::run_tool(
      info, argc, argv, [&](Context& context) { return elixir::tools::work(options, context); });
  elixir::tools::end_process(code);
}
