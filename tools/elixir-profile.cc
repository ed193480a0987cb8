// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// elixir-profile MODEL.pt: captures the training step of a TorchScript model without a GPU and
// without reading its weights, says what it needs, and writes the program as MODEL.profile.json.
// Links libelixir-capture alone, so that it runs where no CUDA library is.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <torch/version.h>

#include "capture/capture.h"
#include "core/units.h"
#include "memory/timeline.h"
#include "program/document.h"
#include "report/profile_screen.h"
#include "tools/common/run_tool.h"

namespace {

using elixir::Error;
using elixir::ErrorCode;
using elixir::Json;

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  elixir::program::Target target;
  std::string optimizer = "adamw";
  std::string precision = "as-saved";
  std::string mode = "as-saved";
  std::string loss;
  std::vector<std::int64_t> batch;
};

/// "dir/gpt2.pt" -> "gpt2.profile.json": the current directory, as every tool.
std::string default_output(const std::string& model) {
  return std::filesystem::path(model).stem().string() + ".profile.json";
}

elixir::capture::Options capture_options(const Options& options) {
  elixir::capture::Options wanted;
  wanted.target = options.target;
  for (const std::string& text : options.inputs) {
    auto spec = elixir::capture::InputSpec::parse(text);
    if (!spec) {
      throw Error(ErrorCode::kBadInputSpec,
                  fmt::format("cannot read `{}` as the description of an input", text),
                  {"write --input NAME:DTYPE[D0,D1,...], for example input_ids:int64[2,128]"});
    }
    wanted.inputs.push_back(std::move(*spec));
  }
  if (options.batch.size() > 1) {
    throw Error(ErrorCode::kBadFlagValue,
                "--batch: several batch sizes at once are not supported yet",
                {"run once for each size, with its own -o"});
  }
  if (!options.batch.empty()) wanted.batch = options.batch.front();
  wanted.precision = options.precision;
  wanted.mode = options.mode;
  wanted.loss = options.loss;
  return wanted;
}

Json summary(const elixir::program::Profile& profile, const std::string& output) {
  const elixir::program::MemorySummary& memory = profile.memory;
  return {{"profile", output},
          {"fingerprint", elixir::program::fingerprint(profile.program)},
          {"parameter_count", profile.program.parameter_count()},
          {"operators", profile.program.operators.size()},
          {"unattributed_operators", profile.unattributed_operators},
          {"memory",
           {{"parameters_bytes", memory.parameters_bytes},
            {"buffers_bytes", memory.buffers_bytes},
            {"gradients_bytes", memory.gradients_bytes},
            {"optimizer_bytes", memory.optimizer_bytes},
            {"activations_peak_bytes", memory.activations_peak_bytes},
            {"peak_allocated_bytes", memory.peak_allocated_bytes},
            {"peak_reserved_bytes", nullptr},
            {"process_peak_bytes", nullptr}}}};
}

elixir::tools::Answer work(const Options& options, elixir::tools::Context& context) {
  const elixir::capture::Options wanted = capture_options(options);
  const std::string output = context.prepare_output(default_output(options.model));
  const auto model = elixir::capture::Model::load(options.model);
  elixir::throw_if_interrupted();
  elixir::capture::Captured captured = elixir::capture::capture(model, wanted);
  for (const std::string& warning : captured.warnings) context.warn(warning);

  elixir::program::Profile profile;
  profile.model_path = options.model;
  profile.program = std::move(captured.program);
  profile.optimizer = options.optimizer;
  profile.memory = elixir::memory::summarise(profile.program, options.optimizer);
  profile.unattributed_operators = captured.unattributed_operators;
  profile.meta = elixir::make_meta("elixir-profile", context.argv());
  context.write_output_streamed(
      output, [&profile](const elixir::Sink& sink) { write_profile(profile, sink); });

  context.document() = summary(profile, output);
  const auto timeline =
      elixir::memory::make_timeline(profile.program, profile.memory.optimizer_bytes);
  context.print(elixir::report::profile_screen(profile, timeline, context.out_style()));
  if (output != "-") {
    context.print(fmt::format("profile written to {}\n", output));
    context.hint(
        fmt::format("next: elixir-search --profile {} --hardware {}",
                    output,
                    wanted.target.kind == elixir::program::Target::Kind::kCpu ? "cpu" : "h200"));
  }
  return elixir::tools::Answer::kYes;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  elixir::tools::ToolInfo info;
  info.name = "elixir-profile";
  info.summary = "Finds out what a training step of a TorchScript model needs, without a GPU.";
  info.examples = {
      {"elixir-profile gpt2.pt", "for an H200, with the input shapes the model was traced with"},
      {"elixir-profile gpt2.pt --target cpu --batch 8", "for this machine's CPU, eight rows"},
      {"elixir-profile net.pt --input 'image:float32[8,3,224,224]' --loss cross-entropy",
       "a scripted model that returns logits; the last input is the label"}};
  info.output = {"FILE", "where to write the profile", "MODEL.profile.json"};
  info.versions = [] {
    return std::vector<std::pair<std::string, std::string>>{{"LibTorch", TORCH_VERSION}};
  };
  info.declare = [&options](elixir::tools::Flags& flags) {
    flags.group("Inputs");
    flags.positional("MODEL.pt", &options.model, "TorchScript file; its weights are not read")
        .required();
    flags
        .texts("--input",
               "NAME:DTYPE[D0,D1,...]",
               &options.inputs,
               "shape of one input; for all of them or none")
        .default_text("the shapes the file was traced with")
        .brief();
    flags
        .integers("--batch",
                  "N",
                  &options.batch,
                  elixir::tools::kPositive,
                  "replaces dimension 0 of the inputs that share the first input's")
        .brief();
    flags.group("Training step");
    flags
        .parsed(
            "--target",
            "cpu|cuda:sm_NN",
            [&options](const std::string& text) {
              const auto target = elixir::program::Target::parse(text);
              if (target) options.target = *target;
              return target.has_value();
            },
            "`cpu`, or `cuda:sm_NN` such as `cuda:sm_90`",
            "what the step runs on")
        .default_text(options.target.text())
        .brief();
    flags
        .choice("--optimizer",
                {"adamw", "adam", "sgd", "none"},
                &options.optimizer,
                "whose state is counted")
        .brief();
    flags
        .choice("--precision",
                {"as-saved", "bf16", "fp16"},
                &options.precision,
                "parameters, activations and gradients in it, with fp32 masters")
        .brief();
    flags.choice(
        "--mode", {"as-saved", "train"}, &options.mode, "train: dropout and batch statistics on");
    flags
        .choice("--loss",
                {"cross-entropy", "mse"},
                &options.loss,
                "makes the loss from output and last input")
        .default_text("the model returns it");
  };
  info.details =
      "Memory is that of eager autograd on the target: exact bytes as LibTorch's allocator counts "
      "them "
      "(allocated), without the workspaces of libraries, from the second step on.";
  return elixir::tools::run_tool(info, argc, argv, [&options](elixir::tools::Context& context) {
    return work(options, context);
  });
}
