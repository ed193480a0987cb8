// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/inputs.h"
#include "tools/train/loss_scale_flag.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "capture/from_model.h"
#include "core/error.h"
#include "core/log.h"
#include "edit/kept_buffers.h"
#include "operators/scratch/workspace_table.h"
#include "program/names/dtype_names.h"
#include "program/trainable.h"
#include "runtime/machine.h"
#include "runtime/state/parameter_layout.h"
#include "schedule/edited_program.h"
#include "tools/common/ask_cudnn.h"
#include "tools/common/isolation.h"
#include "train/weights/weights.h"

namespace elixir::tools {
namespace {

SourcePos in_file(const std::string& path) {
  return SourcePos{path, "", std::nullopt, std::nullopt};
}

plan::Plan load_plan(const TrainOptions& options) {
  plan::Plan plan = plan::load_plan(options.plan);
  const auto contradict = [&](const char* flag, std::string_view given, std::string_view planned) {
    if (given == planned) return;
    ErrorInfo info;
    info.code = ErrorCode::kConflictingFlags;
    info.message = fmt::format("{} {} contradicts the plan, which has {}", flag, given, planned);
    info.where = in_file(options.plan);
    info.help = {fmt::format("leave {} out, or search a plan for it", flag)};
    throw Error(std::move(info));
  };
  if (options.optimizer)
    contradict("--optimizer", name_of(*options.optimizer), name_of(plan.optimizer));
  if (options.precision)
    contradict("--precision", name_of(*options.precision), name_of(plan.precision));
  if (options.accumulation_steps) {
    contradict("--accumulation-steps",
               std::to_string(*options.accumulation_steps),
               std::to_string(plan.accumulation_steps));
  }
  if (!plan.clips_gradients && options.clip_norm > 0) {
    ErrorInfo info;
    info.code = ErrorCode::kConflictingFlags;
    info.message =
        fmt::format("--clip-norm {} needs all gradients at once, and the plan has no room for them",
                    options.clip_norm);
    info.where = in_file(options.plan);
    info.help = {"train with --clip-norm 0, or search a plan without it"};
    throw Error(std::move(info));
  }
  const runtime::LossScaleOptions scale = parse_loss_scale(options.loss_scale);
  // A run may go on under a plan without one.
  const bool asked = !options.resume && !(scale == runtime::LossScaleOptions{});
  if (asked && !plan::scales_loss(plan.edits)) {
    ErrorInfo info;
    info.code = ErrorCode::kConflictingFlags;
    info.message = fmt::format("--loss-scale {}, but the plan scales no loss", options.loss_scale);
    info.where = in_file(options.plan);
    info.help = {"leave it out, or search a plan with --loss-scale always"};
    throw Error(std::move(info));
  }
  if (!plan::waits_for_norm(plan.edits, options.clip_norm)) plan::make_moments_at_once(plan);
  return plan;
}

model::Options capture_options(const TrainOptions& options, const plan::Plan& plan) {
  model::Options wanted;
  wanted.target.kind = plan.hardware.device_kind;
  wanted.target.sm = plan.hardware.sm;
  wanted.target.isa = plan.hardware.isa;
  for (const std::string& text : options.inputs) {
    const auto spec = model::InputSpec::parse(text);
    if (!spec) {
      throw Error(ErrorCode::kBadInputSpec, "--input `{}` is not NAME:DTYPE[D0,D1,...]", text)
          .help(program::help_for_input(text));
    }
    wanted.inputs.push_back(*spec);
  }
  wanted.batch = options.batch;
  wanted.precision = plan.precision;
  wanted.mode = options.mode;
  wanted.loss = options.loss;
  return wanted;
}

void check_plan_against(const program::Program& program,
                        const plan::Plan& plan,
                        const std::string& plan_path) {
  if (plan.optimizer != program::Optimizer::kNone) program::refuse_untrainable(program);
  try {
    plan::check_against(plan, program);
  } catch (Error& error) {
    if (error.info().code != ErrorCode::kPlanOfAnotherProgram) throw;
    ErrorInfo info = error.info();
    if (!info.where) info.where = in_file(plan_path);
    info.help = {
        "pass the --model, --input, --batch, --mode and --loss that elixir-profile was "
        "given, or profile and search again"};
    throw Error(std::move(info));
  }
}

/// The program that runs, and errors of the edits at their place in the plan.
program::Program running_program(const program::Program& captured,
                                 const plan::Plan& plan,
                                 const std::string& plan_path) {
  try {
    return schedule::edited_program(captured, plan);
  } catch (const Error& error) {
    ErrorInfo info = error.info();
    if (!info.where) info.where = SourcePos{plan_path, "/edits", std::nullopt, std::nullopt};
    throw Error(std::move(info));
  }
}

capture::Captured capture_as(const model::Options& wanted, model::ModelFile& model) {
  return capture::with_tensors(model.capture(wanted, model::Constants::kRead));
}

void capture_model(const TrainOptions& options, TrainInputs& inputs, Context& context) {
  train::RunInputs& run = inputs.run;
  model::Options wanted = capture_options(options, run.plan);
  run.captured = capture_as(wanted, inputs.model);
  program::Program& program = run.captured.program;
  // Older plans without an instruction set are of programs without one.
  program.target = wanted.target;
  for (const std::string& warning : run.captured.warnings) context.warn_even_if_quiet(warning);
  if (program.target.kind == program::Target::Kind::kCuda) {
    const CudnnAnswers asked = ask_cudnn(
        program, operators::shipped_workspace_table(program.target.sm), AskAbout::kGpuHere);
    program.workspaces = asked.answers;
    if (!asked.failure.empty()) {
      context.warn("the workspaces of convolutions are guessed: " + asked.failure);
    }
  }
  run.fingerprint = program::fingerprint(program);
  check_plan_against(program, run.plan, options.plan);
  // A model's work is counted without what is made again, as everywhere.
  run.flops_per_step = train::flops_of_step(
      program, program::analyse_lifetimes(program), run.plan.accumulation_steps * run.plan.world);
  inputs.running = running_program(program, run.plan, options.plan);
  inputs.lifetimes = program::analyse_lifetimes(inputs.running);
  if (options.eval_data.empty()) return;
  wanted.mode = program::Mode::kEvaluate;
  wanted.backward = false;
  capture::Captured evaluation = capture_as(wanted, inputs.model);
  evaluation.program = edit::keep_buffers(std::move(evaluation.program));
  run.held_out.emplace().program = std::move(evaluation);
}

/// A glob that names nothing is a misspelt one: everything would decay.
void warn_of_globs(const TrainOptions& options, const program::Program& program, Context& context) {
  for (const std::string& glob : options.no_decay) {
    const auto matches = [&](const program::Parameter& parameter) {
      return std::any_of(parameter.names.begin(), parameter.names.end(), [&](const auto& name) {
        return runtime::matches_glob(name, glob);
      });
    };
    if (std::any_of(program.parameters.begin(), program.parameters.end(), matches)) continue;
    context.warn_even_if_quiet(fmt::format("--no-decay {} matches no parameter", glob),
                               {"the profile lists the model's parameters by name"});
  }
}

void open_training_data(const TrainOptions& options,
                        std::optional<train::DataFormat> format,
                        TrainInputs& inputs,
                        Context& context) {
  inputs.data_files = train::find_data(options.data, format);
  for (const std::string& path : inputs.data_files.files) context.files().reads("--data", path);
  if (inputs.data_files.format == train::DataFormat::kSafetensors && context.given("--labels")) {
    throw Error(ErrorCode::kConflictingFlags,
                "--labels is for token streams, --data is safetensors")
        .help("leave --labels out: samples bring their labels");
  }
  train::RunInputs& run = inputs.run;
  const program::Program& program = run.captured.program;
  run.data_format = inputs.data_files.format;
  inputs.labels = options.labels == "next" ? train::Labels::kNext : train::Labels::kSame;
  inputs.label_use = train::label_use(program);
  run.data = train::Dataset::open(
      inputs.data_files, program, run.plan.accumulation_steps * run.plan.world, inputs.labels);
  for (const std::string& text : run.data->unused()) context.warn_even_if_quiet(text);
}

void open_held_out_data(const TrainOptions& options,
                        std::optional<train::DataFormat> format,
                        TrainInputs& inputs,
                        Context& context) {
  const train::DataFiles files = train::find_data(options.eval_data, format);
  for (const std::string& path : files.files) context.files().reads("--eval-data", path);
  if (files.format != inputs.data_files.format) {
    throw Error(ErrorCode::kDataMismatch,
                "--eval-data is {}, --data is {}",
                train::name_of(files.format),
                train::name_of(inputs.data_files.format));
  }
  inputs.held_out_files = files.files;
  train::HeldOut& held_out = *inputs.run.held_out;
  held_out.data = train::Dataset::open(files, held_out.program.program, 1, inputs.labels);
  for (const std::string& text : held_out.data->unused()) context.warn_even_if_quiet(text);
}

void open_data(const TrainOptions& options, TrainInputs& inputs, Context& context) {
  std::optional<train::DataFormat> format;
  if (options.data_format) format = train::data_format_named(*options.data_format);
  open_training_data(options, format, inputs, context);
  if (inputs.run.held_out) open_held_out_data(options, format, inputs, context);
}

void choose_weights(const TrainOptions& options, TrainInputs& inputs, Context& context) {
  const model::ModelFile& model = inputs.model;
  train::ArchiveData archive;
  archive.path = options.model;
  archive.has = [model](const std::string& name) {
    return model::ModelFile::has_data(model.state(name));
  };
  archive.read = [model](const std::string& name) { return capture::read_state(model, name); };
  archive.recipe_json = model.recipe();
  train::WeightOptions wanted;
  wanted.weights_path = options.weights;
  wanted.missing =
      options.init ? train::MissingWeights::kInitialize : train::MissingWeights::kRefuse;
  wanted.seed = static_cast<std::uint64_t>(options.seed);
  const train::ChosenWeights weights =
      train::choose_weights(inputs.run.captured.program, archive, wanted);
  for (const std::string& path : weights.files) context.files().reads("--weights", path);
  if (!options.resume) {  // otherwise the checkpoint has the weights
    for (const std::string& text : weights.unused) context.warn_even_if_quiet(text);
    for (const std::string& message : weights.messages) log::info(message);
  }
  inputs.weight_files = weights.files;
  inputs.run.weights = weights.source;
}

}  // namespace

OpenedFiles open_files(TrainOptions& options, Context& context) {
  plan::Plan plan = load_plan(options);
  if (!options.resume && !context.given("--betas")) options.betas[1] = plan.beta2;
  return {.plan = std::move(plan), .model = open_model(options.model, options.isolation, context)};
}

TrainInputs read_inputs(OpenedFiles files, const TrainOptions& options, Context& context) {
  TrainInputs inputs{.model = std::move(files.model)};
  inputs.run.plan = std::move(files.plan);
  inputs.run.device =
      runtime::choose_device(options.device, inputs.run.plan, runtime::this_machine());
  capture_model(options, inputs, context);
  inputs.model.end_process();
  warn_of_globs(options, inputs.run.captured.program, context);
  open_data(options, inputs, context);
  choose_weights(options, inputs, context);
  return inputs;
}

}  // namespace elixir::tools
