// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/profile/options.h"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "program/names/dtype_names.h"
#include "tools/common/isolation.h"
#include "tools/common/values.h"

namespace elixir::tools {
namespace {

/// Refuses `flag` for other targets. `instead` says how to use the flag.
void require_cuda(const char* flag, const program::Target& target, const char* instead) {
  if (target.kind == program::Target::Kind::kCuda) return;
  throw Error(
      ErrorCode::kConflictingFlags, "`{}` is for CUDA, the target is `{}`", flag, target.text())
      .help("leave it out, or choose {} such as --target cuda:sm_90", instead);
}

/// Refuses updates that neither Elixir nor torch.optim has.
void check_optimizer(const ProfileOptions& options) {
  using program::Optimizer;
  using program::OptimizerForm;
  const bool is_elixir = options.optimizer_form == OptimizerForm::kElixir;
  const OptimizerForm torch_default = options.optimizer == Optimizer::kAdafactor
                                          ? OptimizerForm::kTorchLoop
                                          : OptimizerForm::kTorchForeach;
  if (is_elixir && !program::is_trained(options.optimizer)) {
    throw Error(ErrorCode::kConflictingFlags,
                "Elixir does not train with --optimizer {}",
                name_of(options.optimizer))
        .help("for torch.optim.{}: --optimizer-form {}",
              torch_name_of(options.optimizer),
              name_of(torch_default));
  }
  if (options.optimizer_form == OptimizerForm::kTorchFused && !has_fused_form(options.optimizer)) {
    throw Error(ErrorCode::kConflictingFlags,
                "torch.optim.{} has no fused form{}",
                torch_name_of(options.optimizer),
                options.optimizer == Optimizer::kAdagrad ? " for GPUs" : "")
        .help("its default: --optimizer-form {}", name_of(torch_default));
  }
  if (options.clip_norm > 0 && options.optimizer == Optimizer::kNone) {
    throw Error(ErrorCode::kConflictingFlags,
                "--clip-norm clips before an update, and with --optimizer none there is none")
        .help("leave one of them out");
  }
  if (options.clip_norm > 0 && !options.optimizer_use().is_torch()) {
    throw Error(
        ErrorCode::kConflictingFlags,
        "--clip-norm counts what clip_grad_norm_ of PyTorch takes, and torch.optim updates nothing")
        .help("leave it out: Elixir's trainer clips in its kernels")
        .help("for torch.optim: --optimizer-form torch-foreach");
  }
}

}  // namespace

void declare_step_flags(Flags& flags, ProfileOptions& options) {
  flags.group("Inputs");
  flags.positional("MODEL.pt", &options.model, "TorchScript file; its weights are not read")
      .reads()
      .required();
  flags
      .texts("--input",
             "NAME:DTYPE[D0,D1,...]",
             &options.inputs,
             "shape of one input; for all of them or none")
      .default_text("the shapes the file was traced with")
      .brief();
  flags
      .integers(
          "--batch",
          "N[,N...]",
          &options.batches,
          kPositive,
          "replaces dimension 0 of the inputs that share the first input's; several: a table, "
          "and a profile for each")
      .default_text("as the inputs say")
      .brief();
  flags.group("Training step");
  flags
      .parsed(
          "--target",
          "cpu[:NAME]|cuda:sm_NN",
          [&options](const std::string& text) {
            const auto target = program::Target::parse(text);
            if (target) options.target = *target;
            return target.has_value();
          },
          "`cpu`, `cpu:NAME` with one of " + program::cpu_isa_names() +
              ", or `cuda:sm_NN` such as `cuda:sm_90`",
          "what the step runs on; `cpu` is this machine's, `cpu:NAME` one with that instruction "
          "set "
          "(as oneDNN names it: avx2, avx512_core_bf16)")
      .default_text(options.target.text())
      .brief();
  flags.choice("--optimizer", program::kOptimizers, &options.optimizer, "whose state is counted");
  flags.choice(
      "--optimizer-form",
      program::kOptimizerForms,
      &options.optimizer_form,
      "who updates: Elixir, with fp32 state, or torch.optim, with state in the parameters' "
      "dtype and temporaries (torch-foreach is its default on GPUs)");
  flags.number(
      "--clip-norm",
      "X",
      &options.clip_norm,
      kNonNegativeNumber,
      "largest global gradient norm, as torch.nn.utils.clip_grad_norm_ keeps it before the "
      "update; 0: no clipping");
  flags.choice(
      "--precision",
      program::kPrecisions,
      &options.precision,
      "parameters, buffers, activations and gradients in it, as Module.to(dtype) casts; parameters "
      "with fp32 masters");
  flags.choice("--mode",
               program::kModes,
               &options.mode,
               "train: dropout and batch statistics on",
               {program::Mode::kAsSaved, program::Mode::kTrain});
  flags
      .choice("--loss",
              {"cross-entropy", "mse"},
              &options.loss,
              "makes the loss from output and last input")
      .default_text("the model returns it");
  flags
      .text("--allocator",
            "CONF",
            &options.allocator,
            "configuration of LibTorch's CUDA allocator, the text of PYTORCH_ALLOC_CONF")
      .default_text("LibTorch's defaults; the variable is not read");
  flags.choice("--cudnn",
               {"auto", "none"},
               &options.cudnn,
               "auto: asks cuDNN, without a GPU, for the workspaces of convolutions that no table "
               "has; none: guesses them, and nets were off by up to 9.6 % allocated then");
}

std::vector<std::string> step_arguments(const ProfileOptions& options) {
  std::vector<std::string> arguments{options.model};
  const auto add = [&arguments](const char* flag, std::string value) {
    arguments.emplace_back(flag);
    arguments.push_back(std::move(value));
  };
  for (const std::string& input : options.inputs) add("--input", input);
  for (const std::int64_t batch : options.batches) add("--batch", std::to_string(batch));
  add("--target", options.target.text());
  add("--optimizer", std::string(name_of(options.optimizer)));
  add("--optimizer-form", std::string(name_of(options.optimizer_form)));
  add("--clip-norm", fmt::format("{}", options.clip_norm));
  add("--precision", std::string(name_of(options.precision)));
  add("--mode", std::string(name_of(options.mode)));
  if (!options.loss.empty()) add("--loss", options.loss);
  if (options.allocator) add("--allocator", *options.allocator);
  add("--cudnn", options.cudnn);
  return arguments;
}

void declare_profile_flags(Flags& flags, ProfileOptions& options) {
  declare_step_flags(flags, options);
  flags.group("Report");
  constexpr std::int64_t kMostGpus = 1024;
  flags.integer(
      "--gpus",
      "N",
      &options.gpus,
      {1, kMostGpus},
      "that train together, a process each: counts NCCL's memory (measured for 2, 3 and 4)");
  flags
      .bytes(
          "--gpu-memory",
          &options.gpu_memory_bytes,
          "says whether the step fits (exit code 1: no; of several batches, not all do), and the "
          "largest batch that does")
      .brief();
  flags.text("--html", "FILE", &options.html, "writes the report as one page for a browser")
      .writes()
      .brief();
  flags
      .text("--snapshot",
            "FILE",
            &options.snapshot,
            "writes a memory snapshot for pytorch.org/memory_viz")
      .writes();
  flags
      .text("--compare",
            "OTHER.profile.json",
            &options.compare,
            "says what changed since: by category, module and operator")
      .reads();
  declare_isolation_flags(flags, options.isolation);
  flags.group("Measuring");
  flags.toggle("--measure",
               &options.measure,
               "runs the step on this machine's GPU, with LibTorch's autograd and as a replay, and "
               "compares");
}

void check_profile_options(const ProfileOptions& options, bool has_output) {
  const std::set<std::int64_t> batches(options.batches.begin(), options.batches.end());
  if (batches.size() != options.batches.size()) {
    throw Error(ErrorCode::kBadFlagValue, "--batch: a size is named twice").help("name each once");
  }
  if (batches.size() > 1) {
    const std::vector<std::string> help{"run once for each size"};
    const auto one_file = [&](const char* flag) {
      throw Error(
          ErrorCode::kConflictingFlags, "{} names one file, --batch {} sizes", flag, batches.size())
          .help(help);
    };
    if (has_output) one_file("-o");
    if (options.html) one_file("--html");
    if (options.snapshot) one_file("--snapshot");
    if (options.compare) one_file("--compare");
    if (options.measure) {
      throw Error(ErrorCode::kConflictingFlags,
                  "--measure runs one step, --batch names {} sizes",
                  batches.size())
          .help(help);
    }
  }
  if (options.measure) require_cuda("--measure", options.target, "this machine's GPU,");
  check_optimizer(options);
  if (options.measure && options.optimizer_form != program::OptimizerForm::kElixir) {
    throw Error(ErrorCode::kConflictingFlags,
                "--measure runs no update of torch.optim, --optimizer-form is {}",
                name_of(options.optimizer_form))
        .help("leave one of them out");
  }
  if (options.gpus > 1) require_cuda("--gpus", options.target, "a target");
  if (options.measure && options.gpus > 1) {
    throw Error(
        ErrorCode::kConflictingFlags, "--measure runs on one GPU, --gpus says {}", options.gpus)
        .help("leave one of them out");
  }
  static_cast<void>(allocator_config(options));
}

memory::AllocatorConfig allocator_config(const ProfileOptions& options) {
  if (!options.allocator) return {};
  require_cuda("--allocator", options.target, "a target");
  return memory::AllocatorConfig::parse(*options.allocator, "--allocator");
}

model::Options capture_options(const ProfileOptions& options) {
  model::Options wanted;
  wanted.target = options.target;
  for (const std::string& text : options.inputs) {
    auto spec = model::InputSpec::parse(text);
    if (!spec) {
      throw Error(ErrorCode::kBadInputSpec, "cannot read `{}` as the description of an input", text)
          .help("write --input NAME:DTYPE[D0,D1,...]")
          .help(program::help_for_input(text));
    }
    wanted.inputs.push_back(std::move(*spec));
  }
  wanted.precision = options.precision;
  wanted.mode = options.mode;
  wanted.loss = options.loss;
  return wanted;
}

}  // namespace elixir::tools
