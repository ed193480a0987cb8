// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/options.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/utf8.h"
#include "tools/common/isolation.h"

namespace elixir::tools {
namespace {

/// Flags that a resumed run may change, because they affect neither the numbers nor the order of
/// the data. More steps do change the learning rate of a falling schedule, and other inputs the
/// rows of a step, but then the user asked for it.
constexpr std::array kMayChange = {"plan",
                                   "model",
                                   "data",
                                   "steps",
                                   "batch",
                                   "inputs",
                                   "keep",
                                   "export",
                                   "eval_data",
                                   "eval_every",
                                   "hardware",
                                   "device",
                                   "eval_batches",
                                   "log_every",
                                   "checkpoint_every"};

constexpr std::int64_t kLargestExactInteger = std::int64_t{1} << 53;  // exact in JSON readers

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

std::vector<std::string> absolute(std::vector<std::string> paths) {
  for (std::string& path : paths) path = absolute(path);
  return paths;
}

/// Shipped hardware profiles are given by name, so only existing files become absolute paths.
std::string absolute_if_file(const std::string& name) {
  return std::filesystem::exists(name) ? absolute(name) : name;
}

template <class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::vector<std::string> strings(const JsonCursor& list) {
  std::vector<std::string> values;
  for (const JsonCursor& item : list.items()) values.push_back(item.string());
  return values;
}

std::optional<std::string> string_or_null(const JsonCursor& root, const char* key) {
  const auto value = root.nullable(key);
  if (!value) return std::nullopt;
  return value->string();
}

std::optional<std::int64_t> integer_or_null(const JsonCursor& root, const char* key) {
  const auto value = root.nullable(key);
  if (!value) return std::nullopt;
  return value->non_negative();
}

TrainOptions read_options(const JsonCursor& saved, const Json& all) {
  std::vector<std::string> keys;
  for (const auto& member : all.items()) keys.push_back(member.key());
  saved.only_keys(keys);
  TrainOptions options;
  options.plan = saved.at("plan").string();
  options.model = saved.at("model").string();
  options.data = strings(saved.at("data"));
  options.data_format = string_or_null(saved, "data_format");
  options.labels = saved.at("labels").choice({"same", "next"});
  options.log_every = integer_or_null(saved, "log_every");
  options.device = saved.at("device").choice(program::kDeviceChoices);
  options.steps = saved.at("steps").non_negative();
  options.lr = saved.at("lr").number();
  options.lr_schedule = saved.at("lr_schedule").choice({"constant", "linear", "cosine"});
  options.warmup_steps = saved.at("warmup_steps").non_negative();
  const auto betas = saved.at("betas").items();
  if (betas.size() != 2)
    throw saved.at("betas").error(ErrorCode::kJsonBadValue, "two numbers belong here");
  options.betas = {betas[0].number(), betas[1].number()};
  options.eps = saved.at("eps").number();
  options.weight_decay = saved.at("weight_decay").number();
  options.no_decay = strings(saved.at("no_decay"));
  options.clip_norm = saved.at("clip_norm").number();
  if (saved.has("loss_scale")) options.loss_scale = saved.at("loss_scale").string();
  options.seed = saved.at("seed").non_negative();
  options.deterministic = saved.at("deterministic").boolean();
  options.checkpoint_every = integer_or_null(saved, "checkpoint_every");
  options.keep = saved.at("keep").non_negative();
  options.weights = string_or_null(saved, "weights");
  options.init = saved.at("init").boolean();
  options.export_path = string_or_null(saved, "export");
  options.eval_data = strings(saved.at("eval_data"));
  options.eval_every = saved.at("eval_every").non_negative();
  options.eval_batches = saved.at("eval_batches").non_negative();
  options.inputs = strings(saved.at("inputs"));
  options.batch = integer_or_null(saved, "batch");
  options.mode = saved.at("mode").choice(program::kModes);
  options.loss = saved.at("loss").string();
  options.hardware = string_or_null(saved, "hardware");
  return options;
}

void declare_inputs(Flags& flags, TrainOptions& options) {
  flags.group("Inputs");
  flags.text("--plan", "PLAN.json", &options.plan, "the plan to carry out (elixir-search)")
      .reads()
      .brief();
  flags.text("--model", "MODEL.pt", &options.model, "the TorchScript model the plan is for")
      .reads()
      .brief();
  flags.texts("--data", "PATH", &options.data, "training data: a file, or a directory of them")
      .reads()
      .brief();
  flags
      .choice("--data-format",
              {"bytes", "u16", "u32", "safetensors"},
              &options.data_format,
              "format of the data (and of --eval-data)")
      .default_text("by suffix: .txt .py, .u16, .u32, .safetensors");
  flags.choice("--labels",
               {"same", "next"},
               &options.labels,
               "what tokens put into labels: the inputs' tokens, for a model that shifts them, or "
               "each one's successor");
  flags
      .text("--weights",
            "FILE",
            &options.weights,
            "first weights: a .safetensors file or the .index.json of a sharded one")
      .reads();
  flags.toggle("--init",
               &options.init,
               "initialise what has no weights, by the exporter's recipe; without --weights, "
               "everything");
  flags
      .text("--resume",
            "RUN_DIR",
            &options.resume,
            "go on with a run from its newest valid checkpoint; its other flags are remembered, "
            "except --export")
      .reads()
      .brief();
  flags.toggle(
      "--accept-changed-data",
      &options.accept_changed_data,
      "with --resume: go on although data, weights or model are not what the run has read");
}

void declare_training(Flags& flags, TrainOptions& options) {
  flags.group("Training");
  flags.choice("--device", program::kDeviceChoices, &options.device, "auto: the plan's");
  flags.integer("--steps", "N", &options.steps, kPositive, "optimizer steps of the whole run")
      .brief();
  flags.number("--lr", "RATE", &options.lr, kPositiveNumber, "learning rate");
  flags.choice("--lr-schedule",
               {"constant", "linear", "cosine"},
               &options.lr_schedule,
               "how it falls after the warm-up");
  flags.integer("--warmup-steps",
                "N",
                &options.warmup_steps,
                kNonNegative,
                "steps in which it rises linearly");
  flags
      .numbers("--betas",
               "B1,B2",
               &options.betas,
               {0, 1, NumberRange::Ends::kMaxExcluded},
               "AdamW's decay of first and second moment")
      .default_text("0.9 and the plan's: 0.999, or 0.95 for moments in bf16");
  flags.number("--eps", "X", &options.eps, kPositiveNumber, "AdamW's epsilon");
  flags.number(
      "--weight-decay", "X", &options.weight_decay, kNonNegativeNumber, "decoupled weight decay");
  flags.texts("--no-decay", "GLOB", &options.no_decay, "parameters without weight decay, by name");
  flags.number("--clip-norm",
               "X",
               &options.clip_norm,
               kNonNegativeNumber,
               "largest global gradient norm; 0: no clipping");
  flags.text("--loss-scale",
             "dynamic[:KEY=X,...]|X",
             &options.loss_scale,
             "of a plan that has one, as for fp16; keys: initial (65536), growth (2), backoff "
             "(0.5), interval (2000 steps), minimum (1), hysteresis (1 overflow); X: fixed, and "
             "an overflow ends the run");
  flags.integer("--seed",
                "N",
                &options.seed,
                {0, kLargestExactInteger},
                "of initialisation, data order and dropout");
  flags.toggle("--deterministic",
               &options.deterministic,
               "deterministic operators only, so that any two plans give the same bits on CUDA");
}

void declare_checkpoints_and_evaluation(Flags& flags, TrainOptions& options) {
  flags.group("Checkpoints and evaluation");
  flags
      .integer("--checkpoint-every",
               "N",
               &options.checkpoint_every,
               kNonNegative,
               "steps between checkpoints; 0: only when interrupted")
      .default_text("at the end");
  flags.integer("--keep", "N", &options.keep, {1, 1000000}, "newest checkpoints to keep");
  flags
      .text("--export",
            "OUT",
            &options.export_path,
            "trained model when done: .safetensors, or .pt (the module with its weights)")
      .writes();
  flags.texts("--eval-data", "PATH", &options.eval_data, "held-out data of the same format")
      .reads();
  flags.integer("--eval-every",
                "N",
                &options.eval_every,
                kNonNegative,
                "steps between evaluations; 0: at start and end");
  flags.integer("--eval-batches",
                "N",
                &options.eval_batches,
                kPositive,
                "batches of an evaluation, spread over the held-out data");
  flags
      .integer("--log-every",
               "N",
               &options.log_every,
               kNonNegative,
               "steps between lines of the log; 0: no lines")
      .default_text("some twenty lines a run");
  flags.toggle("--dry-run",
               &options.dry_run,
               "check everything, say what would be done and predicted, and stop");
}

void declare_capture(Flags& flags, TrainOptions& options) {
  flags.group("Model capture (as for elixir-profile)");
  flags.texts("--input",
              "NAME:DTYPE[D0,D1,...]",
              &options.inputs,
              "shape of an input; default: the shapes traced");
  flags.integer("--batch", "N", &options.batch, kPositive, "replaces dimension 0 of the inputs");
  flags.choice("--mode",
               program::kModes,
               &options.mode,
               "training flag of the model",
               {program::Mode::kAsSaved, program::Mode::kTrain});
  flags
      .choice("--loss",
              {"cross-entropy", "mse"},
              &options.loss,
              "loss of output and last input, when the model returns none")
      .default_text("the model's");
}

void declare_decided_by_plan(Flags& flags, TrainOptions& options) {
  flags.group("Decided by the plan (checked)");
  flags.choice("--optimizer",
               program::kTrainedOptimizers,
               &options.optimizer,
               "must be the plan's (adamw and none train)");
  flags.choice("--precision", program::kPrecisions, &options.precision, "must be the plan's");
  flags.integer(
      "--accumulation-steps", "N", &options.accumulation_steps, kPositive, "must be the plan's");
  flags
      .text("--hardware",
            "H",
            &options.hardware,
            "hardware document the plan was made with, for the predicted timeline of trace.json")
      .reads();
}

}  // namespace

std::string flag_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + (key == "inputs" ? "input" : key);
}

void declare_train_flags(Flags& flags, TrainOptions& options) {
  declare_inputs(flags, options);
  declare_training(flags, options);
  declare_checkpoints_and_evaluation(flags, options);
  declare_capture(flags, options);
  declare_isolation_flags(flags, options.isolation);
  declare_decided_by_plan(flags, options);
}

Json to_json(const TrainOptions& options) {
  Json json = Json::object();
  json["plan"] = absolute(options.plan);
  json["model"] = absolute(options.model);
  json["data"] = absolute(options.data);
  json["data_format"] = nullable(options.data_format);
  json["labels"] = options.labels;
  json["device"] = name_of(options.device);
  json["steps"] = options.steps;
  json["lr"] = options.lr;
  json["lr_schedule"] = options.lr_schedule;
  json["warmup_steps"] = options.warmup_steps;
  json["betas"] = options.betas;
  json["eps"] = options.eps;
  json["weight_decay"] = options.weight_decay;
  json["no_decay"] = options.no_decay;
  json["clip_norm"] = options.clip_norm;
  json["loss_scale"] = options.loss_scale;
  json["seed"] = options.seed;
  json["deterministic"] = options.deterministic;
  json["checkpoint_every"] = nullable(options.checkpoint_every);
  json["keep"] = options.keep;
  json["weights"] = options.weights ? Json(absolute(*options.weights)) : Json();
  json["init"] = options.init;
  const auto& exported = options.export_path ? options.export_path : options.unconfirmed_export;
  json["export"] = exported ? Json(absolute(*exported)) : Json();
  json["eval_data"] = absolute(options.eval_data);
  json["eval_every"] = options.eval_every;
  json["eval_batches"] = options.eval_batches;
  json["log_every"] = nullable(options.log_every);
  json["inputs"] = options.inputs;
  json["batch"] = nullable(options.batch);
  json["mode"] = name_of(options.mode);
  json["loss"] = options.loss;
  json["hardware"] = options.hardware ? Json(absolute_if_file(*options.hardware)) : Json();
  return json;
}

void check_paths(const TrainOptions& options) {
  std::vector<std::string> paths = options.data;
  paths.insert(paths.end(), options.eval_data.begin(), options.eval_data.end());
  paths.insert(paths.end(), {options.plan, options.model, options.weights.value_or("")});
  paths.insert(paths.end(), {options.export_path.value_or(""), options.hardware.value_or("")});
  for (const std::string& path : paths) {
    const std::string whole = absolute(path);
    if (well_formed_utf8(whole) == whole) continue;
    throw Error(ErrorCode::kBadFlagValue, "the path `{}` is not UTF-8", path)
        .help("rename it: config.json keeps the paths of a run, and JSON is UTF-8");
  }
}

TrainOptions resume_options(const TrainOptions& flags,
                            const JsonCursor& saved,
                            const std::function<bool(const std::string&)>& given) {
  const Json now = to_json(flags);
  Json merged = saved.raw();
  for (const auto& member : now.items()) {
    const std::string& key = member.key();
    const std::string flag = flag_of(key);
    if (!given(flag) || !merged.contains(key) || merged[key] == member.value()) continue;
    const bool may_change = std::any_of(
        kMayChange.begin(), kMayChange.end(), [&](const char* each) { return key == each; });
    if (!may_change) {
      throw Error(ErrorCode::kConflictingFlags,
                  "{} {} contradicts the run to resume, which has {}",
                  flag,
                  member.value().dump(),
                  merged[key].dump())
          .help("leave {} out, or start a new run", flag);
    }
    merged[key] = member.value();
  }
  TrainOptions options = read_options(saved, now);
  const auto document = JsonDocument::parse(merged.dump(), "options of the resumed run");
  options = read_options(document->root(), now);
  options.resume = flags.resume;
  options.accept_changed_data = flags.accept_changed_data;
  // Whoever wrote the config may not write where this user may: an output outside of the run
  // directory is confirmed by the flag.
  if (!given("--export")) options.unconfirmed_export = std::exchange(options.export_path, {});
  options.dry_run = flags.dry_run;
  options.isolation = flags.isolation;
  options.optimizer = flags.optimizer;
  options.precision = flags.precision;
  options.accumulation_steps = flags.accumulation_steps;
  return options;
}

}  // namespace elixir::tools
