// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/train/run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "capture/capture.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/units.h"
#include "hardware/operator_cost.h"
#include "plan/plan.h"
#include "program/dtype_names.h"
#include "program/lifetimes.h"
#include "program/loss_scale.h"
#include "report/screen/profile_screen.h"
#include "report/screen/train_log.h"
#include "report/trace/schedule_trace.h"
#include "runtime/machine.h"
#include "runtime/trainer.h"
#include "schedule/run_memory.h"
#include "tools/train/comparison.h"
#include "tools/train/data_notes.h"
#include "tools/train/memory_check.h"
#include "tools/train/slow_progress.h"
#include "train/checkpoint.h"
#include "train/data.h"
#include "train/export.h"
#include "train/learning_rate.h"
#include "train/run_directory.h"
#include "train/token_entropy.h"
#include "train/training_state.h"
#include "train/weights.h"

namespace elixir::tools {
namespace {

namespace fs = std::filesystem;

std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class TrainRun {
 public:
  TrainRun(const TrainOptions& flags, Context& context) : options_(flags), context_(context) {}

  Answer run();

 private:
  // Before anything is written, in the order in which mistakes are cheapest to find.
  void choose_options();
  void check_outputs();
  void claim_files();
  void load_plan();
  void capture_model();
  void open_data();
  void watch_losses();
  void choose_weights();
  void predict();
  void announce();

  void start();
  void resume_state();
  void train_steps();
  void one_step(std::int64_t step);
  void tell(const report::LoggedStep& step);
  void checkpoint();
  void show_checkpoint(std::int64_t step, double share);
  void note_checkpoint(Error& error) const;
  /// nullopt when it was interrupted.
  [[nodiscard]] std::optional<double> evaluate();
  void finish(const char* how);

  [[nodiscard]] capture::Options capture_options() const;
  [[nodiscard]] Json summary(const char* how) const;
  [[nodiscard]] std::string loss_unit() const;
  [[nodiscard]] std::optional<double> tokens_per_s(double step_ns) const;
  [[nodiscard]] const StepFigures& predicted() const { return predicted_; }

  TrainOptions options_;
  Context& context_;
  std::string run_path_, run_id_;
  std::shared_ptr<const JsonDocument> saved_config_;
  plan::Plan plan_;
  std::string fingerprint_;
  runtime::DeviceKind device_ = runtime::DeviceKind::kCpu;
  std::optional<capture::Model> model_;
  std::optional<capture::Captured> captured_, evaluation_;
  program::Lifetimes lifetimes_;
  train::DataFiles data_files_;
  std::unique_ptr<train::Dataset> data_, eval_data_;
  train::Labels labels_ = train::Labels::kSame;
  train::LabelUse label_use_;
  std::optional<train::LossWatch> loss_watch_;
  train::ChosenWeights weights_;
  train::LearningRate learning_rate_;
  std::optional<train::FoundCheckpoint> resumed_from_;
  StepFigures predicted_;
  schedule::RunMemory memory_;
  std::optional<schedule::Simulation> simulation_;
  double flops_per_step_ = 0;

  std::optional<train::RunDirectory> directory_;
  std::unique_ptr<runtime::Trainer> trainer_;
  std::unique_ptr<report::LinePrinter> progress_;
  std::optional<report::TrainLog> log_;
  Measurements measurements_;
  std::vector<schedule::TaskTime> last_tasks_;
  std::int64_t first_step_ = 1, last_checkpoint_step_ = -1;
  std::optional<double> first_loss_, last_loss_, first_held_out_, held_out_;
};

// --- preparation ---------------------------------------------------------------------------------

void TrainRun::choose_options() {
  if (options_.resume) {
    run_path_ = *options_.resume;
    if (context_.output()) {
      throw Error(ErrorCode::kConflictingFlags,
                  "-o and --resume both name the run directory",
                  {"leave -o out: the resumed run's directory is used"});
    }
    if (options_.dry_run) {
      train::RunDirectory::check_run(run_path_);
    } else {
      directory_.emplace(train::RunDirectory::open(run_path_));
    }
    saved_config_ = JsonDocument::load(run_path_ + "/config.json");
    const JsonCursor root = saved_config_->root("elixir.config", 1);
    run_id_ = root.at("run_id").string();
    options_ = resume_options(options_, root.at("options"), [&](const std::string& flag) {
      return context_.given(flag);
    });
  }
  const auto need = [](const char* flag, bool given) {
    if (!given) {
      throw Error(ErrorCode::kMissingArgument,
                  fmt::format("{} is missing", flag),
                  {"elixir-train --plan PLAN.json --model MODEL.pt --data DATA"});
    }
  };
  need("--plan", !options_.plan.empty());
  need("--model", !options_.model.empty());
  need("--data", !options_.data.empty());
  if (options_.eval_every > 0 && options_.eval_data.empty()) need("--eval-data", false);
  if (options_.warmup_steps > options_.steps) {
    throw Error(
        ErrorCode::kBadFlagValue,
        fmt::format(
            "--warmup-steps {} is more than --steps {}", options_.warmup_steps, options_.steps));
  }
  learning_rate_ = {*train::schedule_named(options_.lr_schedule),
                    options_.lr,
                    options_.warmup_steps,
                    options_.steps};
}

/// What --force or a resumed run replaces must not be what it reads.
void TrainRun::claim_files() {
  ClaimedFiles& files = context_.files();
  if (options_.resume) {
    const std::string who = "the resumed run";
    for (const std::string& path : {options_.plan, options_.model}) files.reads(who, path);
    for (const auto* paths : {&options_.data, &options_.eval_data}) {
      for (const std::string& path : *paths) files.reads(who, path);
    }
    for (const auto& path : {options_.weights, options_.hardware})
      files.reads(who, path.value_or(""));
    if (options_.export_path && !context_.given("--export")) {
      files.writes("--export", *options_.export_path);
    }
  }
  for (const std::string& path : train::RunDirectory::files_of(run_path_)) {
    files.replaces_directory(options_.resume ? "--resume" : "-o", path);
  }
}

void TrainRun::check_outputs() {
  if (!options_.resume) {
    run_path_ =
        context_.output() ? *context_.output() : fs::path(options_.model).stem().string() + ".run";
    claim_files();
    if (!options_.dry_run || context_.output()) {
      train::RunDirectory::check(run_path_, context_.overwrite());
    }
  }
  if (options_.resume) claim_files();
  if (options_.export_path) {
    (void)train::export_format_of(*options_.export_path);
    // A resumed run may have written its export already.
    const bool own = options_.resume && !context_.given("--export");
    check_output(*options_.export_path, own ? Overwrite::kAllow : context_.overwrite());
  }
}

void TrainRun::load_plan() {
  plan_ = plan::load_plan(options_.plan);
  const auto contradict = [&](const char* flag,
                              const std::string& given,
                              const std::string& planned) {
    if (given == planned) return;
    ErrorInfo info;
    info.code = ErrorCode::kConflictingFlags;
    info.message = fmt::format("{} {} contradicts the plan, which has {}", flag, given, planned);
    info.where = SourcePos{options_.plan, "", std::nullopt, std::nullopt};
    info.help = {fmt::format("leave {} out, or search a plan for it", flag)};
    throw Error(std::move(info));
  };
  if (options_.optimizer) contradict("--optimizer", *options_.optimizer, plan_.optimizer);
  if (options_.precision) contradict("--precision", *options_.precision, plan_.precision);
  if (options_.accumulation_steps) {
    contradict("--accumulation-steps",
               std::to_string(*options_.accumulation_steps),
               std::to_string(plan_.accumulation_steps));
  }
  device_ = runtime::choose_device(options_.device, plan_, runtime::this_machine());
}

capture::Options TrainRun::capture_options() const {
  capture::Options wanted;
  wanted.target.kind = plan_.hardware.device_kind == "cuda" ? program::Target::Kind::kCuda
                                                            : program::Target::Kind::kCpu;
  wanted.target.sm = plan_.hardware.sm;
  wanted.target.isa = plan_.hardware.isa;
  for (const std::string& text : options_.inputs) {
    const auto spec = capture::InputSpec::parse(text);
    if (!spec) {
      throw Error(ErrorCode::kBadInputSpec,
                  "--input `" + text + "` is not NAME:DTYPE[D0,D1,...]",
                  {program::help_for_input(text)});
    }
    wanted.inputs.push_back(*spec);
  }
  wanted.batch = options_.batch;
  wanted.precision = plan_.precision;
  wanted.mode = options_.mode;
  wanted.loss = options_.loss;
  return wanted;
}

void TrainRun::capture_model() {
  capture::Options wanted = capture_options();
  captured_ = capture::capture(*model_, wanted);
  // Plans before the instruction set was named are of programs that do not name it either.
  captured_->program.target = wanted.target;
  for (const std::string& warning : captured_->warnings) context_.warn(warning);
  const program::Program& program = captured_->program;
  fingerprint_ = program::fingerprint(program);
  if (plan_.optimizer != "none") program::refuse_without_loss_scale(program);
  try {
    plan::check_against(plan_, program);
  } catch (Error& error) {
    if (error.info().code != ErrorCode::kPlanOfAnotherProgram) throw;
    ErrorInfo info = error.info();
    if (!info.where) info.where = SourcePos{options_.plan, "", std::nullopt, std::nullopt};
    info.help = {
        "pass the --model, --input, --batch, --mode and --loss that elixir-profile was "
        "given, or profile and search again"};
    throw Error(std::move(info));
  }
  lifetimes_ = program::analyse_lifetimes(program);
  for (const program::Operator& op : program.operators) {
    if (lifetimes_.executed[static_cast<std::size_t>(op.id)]) {
      flops_per_step_ += static_cast<double>(op.flops) * plan_.accumulation_steps;
    }
  }
  if (!options_.eval_data.empty()) {
    wanted.mode = "eval";
    wanted.backward = false;
    evaluation_ = capture::capture(*model_, wanted);
  }
}

void TrainRun::open_data() {
  std::optional<train::DataFormat> format;
  if (options_.data_format) format = train::data_format_named(*options_.data_format);
  data_files_ = train::find_data(options_.data, format);
  for (const std::string& path : data_files_.files) context_.files().reads("--data", path);
  if (data_files_.format == train::DataFormat::kSafetensors && context_.given("--labels")) {
    throw Error(ErrorCode::kConflictingFlags,
                "--labels is for token streams, --data is safetensors",
                {"leave --labels out: samples bring their labels"});
  }
  labels_ = options_.labels == "next" ? train::Labels::kNext : train::Labels::kSame;
  label_use_ = train::label_use(captured_->program);
  data_ = train::Dataset::open(data_files_, captured_->program, plan_.accumulation_steps, labels_);
  watch_losses();
  if (options_.eval_data.empty()) return;
  const train::DataFiles files = train::find_data(options_.eval_data, format);
  for (const std::string& path : files.files) context_.files().reads("--eval-data", path);
  if (files.format != data_files_.format) {
    throw Error(ErrorCode::kDataMismatch,
                fmt::format("--eval-data is {}, --data is {}",
                            train::name_of(files.format),
                            train::name_of(data_files_.format)));
  }
  eval_data_ = train::Dataset::open(files, evaluation_->program, 1, labels_);
}

void TrainRun::watch_losses() {
  if (!data_->tokens_per_row() || !label_use_.has_class_loss) return;
  loss_watch_.emplace([this] { return data_->next_token_entropy(); },
                      data_->size(),
                      *data_->tokens_per_row() * data_->rows() * plan_.accumulation_steps);
}

void TrainRun::choose_weights() {
  train::ArchiveData archive;
  archive.path = options_.model;
  archive.has = [this](const std::string& name) { return model_->has_data(name); };
  archive.read = [this](const std::string& name) { return model_->read(name); };
  archive.recipe_json = model_->extra_file("initialization.json");
  train::WeightOptions wanted;
  wanted.weights_path = options_.weights;
  wanted.missing =
      options_.init ? train::MissingWeights::kInitialize : train::MissingWeights::kRefuse;
  wanted.seed = static_cast<std::uint64_t>(options_.seed);
  weights_ = train::choose_weights(captured_->program, archive, wanted);
  for (const std::string& path : weights_.files) context_.files().reads("--weights", path);
  if (options_.resume) return;  // the checkpoint has the weights
  for (const std::string& message : weights_.messages) log::info(message);
}

void TrainRun::predict() {
  predicted_ = predicted_by(plan_);
  std::optional<hardware::HardwareProfile> found;
  if (options_.hardware) {
    found = hardware::load_hardware(*options_.hardware);
    if (hardware::fingerprint(*found) != plan_.hardware.fingerprint) {
      context_.warn("--hardware is not the document the plan was made with",
                    {"predictions are for --hardware; search again to plan with it"});
    }
  } else {
    for (const std::string& name : hardware::shipped_profiles()) {
      hardware::HardwareProfile profile = hardware::load_hardware(name);
      if (hardware::fingerprint(profile) == plan_.hardware.fingerprint) found = std::move(profile);
    }
  }
  schedule::LoweringOptions lowering;
  lowering.clip_gradients = options_.clip_norm > 0;
  const schedule::Schedule schedule =
      schedule::lower(captured_->program, lifetimes_, plan_, lowering);
  if (found) {
    simulation_ = schedule::simulate(
        schedule, captured_->program, lifetimes_, plan_, hardware::CostModel(*found));
    predicted_ = predicted_by(*simulation_);
  }
  const bool known = found.has_value();
  if (!known) {
    const bool cuda = device_ == runtime::DeviceKind::kCuda;
    found = hardware::load_hardware(cuda ? "h200" : "cpu");
    if (evaluation_ && !cuda) {
      log::info(
          "memory of evaluation is counted without operators' workspaces: only the plan's "
          "--hardware knows them");
    }
  }
  memory_ = schedule::run_memory(
      plan_,
      captured_->program,
      schedule,
      plan_.predicted.peak_allocated_bytes,
      evaluation_ ? &evaluation_->program : nullptr,
      hardware::CostModel(*found),
      known ? schedule::Workspaces::kOfHardware : schedule::Workspaces::kNotCounted);
  predicted_.peak_device_bytes += memory_.evaluation.own_device_bytes;
  predicted_.host_bytes += memory_.evaluation.own_host_bytes;
}

void TrainRun::announce() {
  const program::Program& program = captured_->program;
  const std::int64_t rows_per_step = data_->rows() * plan_.accumulation_steps;
  const auto moved = static_cast<std::int64_t>(
      std::count_if(plan_.chunks.begin(), plan_.chunks.end(), [](const plan::Chunk& chunk) {
        return chunk.parameter_home == plan::Home::kHost;
      }));
  std::string text;
  text += fmt::format("model      {}: {} parameters, program {}\n",
                      options_.model,
                      format_count(program.parameter_count()),
                      fingerprint_.substr(0, 12));
  text += fmt::format("plan       {}: {}, {} chunks, {} of them on the host, {} blocks of {}\n",
                      options_.plan,
                      plan_.strategy,
                      plan_.chunks.size(),
                      moved,
                      plan_.cache.blocks,
                      format_bytes(plan_.cache.block_bytes));
  text += fmt::format("budgets    device {}, host {}\n",
                      format_bytes(plan_.budgets.gpu_memory_bytes),
                      format_bytes(plan_.budgets.host_memory_bytes));
  text += fmt::format(
      "data       {} {} ({}) in {} file{}; {} rows{} a step\n",
      format_count(data_->size()),
      data_->tokens_per_row() ? "tokens" : "samples",
      train::name_of(data_files_.format),
      data_files_.files.size(),
      data_files_.files.size() == 1 ? "" : "s",
      rows_per_step,
      data_->tokens_per_row() ? fmt::format(" of {} tokens", *data_->tokens_per_row()) : "");
  if (!options_.loss.empty()) text += report::loss_line(program, options_.loss);
  text +=
      fmt::format("labels     {}\n", labels_text(program, label_use_, data_files_.format, labels_));
  text += fmt::format("sampling   {}\n", sampling_text(*data_, rows_per_step, options_.steps));
  text += fmt::format("training   {} to step {}, {}, lr {} {}, clip {}, seed {}, {}\n",
                      first_step_ == 1               ? std::string("from the start")
                      : first_step_ > options_.steps ? std::string("finished before: nothing left")
                                                     : fmt::format("from step {}", first_step_),
                      options_.steps,
                      plan_.optimizer,
                      options_.lr,
                      options_.lr_schedule,
                      options_.clip_norm,
                      options_.seed,
                      device_ == runtime::DeviceKind::kCuda
                          ? std::string("on the GPU")
                          : fmt::format("on the CPU with {} thread{}",
                                        at::get_num_threads(),
                                        at::get_num_threads() == 1 ? "" : "s"));
  text += fmt::format(
      "predicted  {} a step, device peak {}, host {}, {} fetches and {} evictions a "
      "step\n",
      format_ns(predicted().step_ns),
      format_bytes(predicted().peak_device_bytes),
      format_bytes(predicted().host_bytes),
      predicted().traffic.fetches,
      predicted().traffic.evictions);
  if (const auto warning = label_warning(label_use_, data_files_.format, labels_)) {
    context_.warn(warning->message, warning->help);
  }
  if (options_.dry_run) {
    context_.print(report::fit(text, context_.out_style()));
    return;
  }
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    log::info(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// --- training ------------------------------------------------------------------------------------

void TrainRun::start() {
  runtime::TrainerOptions wanted;
  wanted.device = device_;
  wanted.optimizer = {options_.betas[0],
                      options_.betas[1],
                      options_.eps,
                      options_.weight_decay,
                      options_.no_decay,
                      options_.clip_norm};
  wanted.seed = static_cast<std::uint64_t>(options_.seed);
  wanted.deterministic = options_.deterministic;
  wanted.keep_task_times = true;
  if (resumed_from_) wanted.cpu_threads = resumed_from_->info.cpu_threads;
  runtime::TensorSource source = weights_.source;
  if (resumed_from_) source = train::without_checkpointed(captured_->program, std::move(source));
  {
    SlowProgress progress(context_);
    wanted.on_fill = [&progress](double done_fraction, const std::string& parameter) {
      progress.update(done_fraction, "filling weights: " + parameter);
    };
    trainer_ =
        std::make_unique<runtime::Trainer>(*captured_, plan_, wanted, [&](const std::string& name) {
          throw_if_interrupted();
          return source(name);
        });
  }
  if (evaluation_) trainer_->prepare_evaluation(*evaluation_);
  if (resumed_from_) {
    train::restore_checkpoint(*resumed_from_, train::training_state_of(*trainer_));
    trainer_->set_steps_done(resumed_from_->info.step);
  }
  if (options_.resume) {
    directory_->cut_metrics(first_step_ - 1);
  } else {
    directory_.emplace(train::RunDirectory::create(run_path_, context_.overwrite()));
    run_id_ = directory_->run_id();
  }
  Json config = Json::object();
  config["schema"] = "elixir.config";
  config["schema_version"] = kSchemaVersion;
  config["meta"] = make_meta("elixir-train", context_.argv());
  config["run_id"] = run_id_;
  config["program_fingerprint"] = fingerprint_;
  config["options"] = to_json(options_);
  try {
    directory_->write("config.json", dump(config));
  } catch (const Error&) {
    // A run that could not begin leaves no directory behind (an older one's notes stay).
    if (!options_.resume) directory_->abandon();
    throw;
  }
}

/// Results are the same for one number of threads alone; far more threads than CPUs never end.
void check_threads(int threads) {
  constexpr unsigned kMostPerCpu = 16;
  const unsigned cpus = std::max(1U, std::thread::hardware_concurrency());
  if (static_cast<unsigned>(threads) <= kMostPerCpu * cpus) return;
  throw Error(
      ErrorCode::kMachineTooSmall,
      fmt::format("the checkpoint's run used {} threads, this machine has {} CPUs", threads, cpus),
      {"resume on a machine like the one it ran on"});
}

void TrainRun::resume_state() {
  const std::string directory = run_path_ + "/checkpoints";
  if (!options_.dry_run) {
    train::remove_leftovers(directory);
    if (options_.export_path) train::remove_abandoned(*options_.export_path);
  }
  resumed_from_ = train::newest_checkpoint(directory, run_id_);
  if (resumed_from_) check_threads(resumed_from_->info.cpu_threads);
  if (!resumed_from_) {
    log::info("no checkpoint yet: the run starts again from its first step");
    return;
  }
  for (const std::string& rejected : resumed_from_->rejected) {
    context_.warn("damaged checkpoint not used: " + rejected);
  }
  const train::CheckpointInfo& info = resumed_from_->info;
  if (info.program_fingerprint != fingerprint_) {
    throw Error(ErrorCode::kPlanOfAnotherProgram,
                fmt::format("the checkpoint is of program {}, plan and model of {}",
                            info.program_fingerprint.substr(0, 12),
                            fingerprint_.substr(0, 12)),
                {"resume with the model and shapes the run was started with"});
  }
  if (info.rows_per_step != data_->rows() * plan_.accumulation_steps) {
    context_.warn(fmt::format("the run had {} rows a step, this plan has {}: other rows follow",
                              info.rows_per_step,
                              data_->rows() * plan_.accumulation_steps));
  }
  first_step_ = info.step + 1;
  last_checkpoint_step_ = info.step;
  if (info.step >= options_.steps) {
    log::info(fmt::format("this run is finished: all its {} steps are done; --steps N trains on",
                          info.step));
    return;
  }
  log::info(fmt::format("resuming after step {} from {}", info.step, resumed_from_->path));
}

std::string TrainRun::loss_unit() const {
  if (data_files_.format == train::DataFormat::kBytes) return " nats/byte";
  return data_->tokens_per_row() ? " nats/token" : "";
}

std::optional<double> TrainRun::tokens_per_s(double step_ns) const {
  if (!data_->tokens_per_row() || step_ns <= 0) return std::nullopt;
  const auto tokens =
      static_cast<double>(*data_->tokens_per_row() * data_->rows() * plan_.accumulation_steps);
  return tokens / (step_ns * 1e-9);
}

std::optional<double> TrainRun::evaluate() {
  const std::int64_t batches = eval_data_->evaluation_batches(options_.eval_batches);
  double sum = 0;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    if (interrupted()) return std::nullopt;
    sum += trainer_->evaluate(*evaluation_, eval_data_->evaluation(batch, batches));
  }
  return sum / static_cast<double>(batches);
}

void TrainRun::show_checkpoint(std::int64_t step, double share) {
  if (!progress_) return;  // a log has no line that is written over
  progress_->update(
      static_cast<double>(step) / static_cast<double>(options_.steps),
      fmt::format(
          "step {}/{}  writing its checkpoint, {:.0f} %", step, options_.steps, 100 * share));
}

void TrainRun::note_checkpoint(Error& error) const {
  std::error_code ignored;
  const std::string path = directory_->checkpoints();
  if (last_checkpoint_step_ < 0 || !fs::is_directory(path, ignored)) return;
  error.note(fmt::format("the checkpoint of step {} stays in {}", last_checkpoint_step_, path));
}

void TrainRun::checkpoint() {
  if (last_checkpoint_step_ == trainer_->steps_done()) return;
  directory_->check_present();
  train::CheckpointInfo info;
  info.run_id = run_id_;
  info.step = trainer_->steps_done();
  info.program_fingerprint = fingerprint_;
  info.device = device_ == runtime::DeviceKind::kCuda ? "cuda" : "cpu";
  info.cpu_threads = at::get_num_threads();
  info.seed = static_cast<std::uint64_t>(options_.seed);
  info.learning_rate = learning_rate_;
  info.data_format = train::name_of(data_files_.format);
  info.rows_per_step = data_->rows() * plan_.accumulation_steps;
  train::write_checkpoint(directory_->checkpoints(),
                          info,
                          train::training_state_of(*trainer_),
                          static_cast<int>(options_.keep),
                          make_meta("elixir-train", context_.argv()),
                          [&](double share) { show_checkpoint(info.step, share); });
  last_checkpoint_step_ = info.step;
}

void TrainRun::one_step(std::int64_t step) {
  runtime::MicroBatches batch;
  for (int micro = 0; micro < plan_.accumulation_steps; ++micro) {
    batch.push_back(data_->training(static_cast<std::uint64_t>(options_.seed), step, micro));
  }
  const double rate = learning_rate_.at(step);
  runtime::StepReport report = trainer_->step(batch, rate);
  measurements_.add(report);
  last_tasks_ = std::move(report.tasks);
  last_loss_ = report.loss;
  if (!first_loss_) first_loss_ = report.loss;

  const bool last = step == options_.steps;
  std::optional<double> held_out;
  if (eval_data_ && (last || (options_.eval_every > 0 && step % options_.eval_every == 0))) {
    held_out = evaluate();
    if (held_out) held_out_ = held_out;
  }
  const auto rate_of_tokens = tokens_per_s(report.step_ns);
  Json line = Json::object();
  line["step"] = step;
  line["time_ns"] = wall_clock_ns();
  line["loss"] = report.loss;
  line["learning_rate"] = rate;
  line["grad_norm"] = value_or_null(report.gradient_norm);
  line["step_time_ns"] = std::llround(report.step_ns);
  line["tokens_per_s"] = value_or_null(rate_of_tokens);
  line["model_flop_per_s"] =
      report.step_ns > 0 ? Json(flops_per_step_ / (report.step_ns * 1e-9)) : Json();
  line["peak_device_bytes"] = report.memory.peak_device_bytes;
  line["host_bytes"] = report.memory.host_bytes;
  line["host_to_device_bytes"] = report.traffic.host_to_device_bytes;
  line["device_to_host_bytes"] = report.traffic.device_to_host_bytes;
  line["fetches"] = report.traffic.fetches;
  line["evictions"] = report.traffic.evictions;
  line["held_out_loss"] = value_or_null(held_out);
  directory_->append_metrics(line);

  tell({step,
        report.loss,
        held_out,
        rate,
        report.gradient_norm,
        report.step_ns,
        report.memory.peak_device_bytes});
}

/// The log's line, progress, and a word about a loss that is too good.
void TrainRun::tell(const report::LoggedStep& step) {
  if (const auto line = log_->add(step)) log::info(*line);
  if (progress_) {
    progress_->update(static_cast<double>(step.step) / static_cast<double>(options_.steps),
                      log_->brief(step));
  }
  if (!loss_watch_) return;
  auto doubt = loss_watch_->training(step.step, step.loss);
  if (!doubt && step.held_out_loss) doubt = loss_watch_->held_out(*step.held_out_loss);
  if (!doubt) return;
  context_.warn(*doubt,
                {"are the labels the inputs? This run's: " +
                     labels_text(captured_->program, label_use_, data_files_.format, labels_),
                 "or the data repeats itself; then all is well"});
}

void TrainRun::train_steps() {
  if (eval_data_ && first_step_ == 1) {
    first_held_out_ = held_out_ = evaluate();
    if (held_out_) {
      log::info(fmt::format("held-out loss before training {:.4f}{}", *held_out_, loss_unit()));
    }
  }
  log_.emplace(report::TrainLog::Run{
      options_.steps, options_.log_every, tokens_per_s(1e9), flops_per_step_});
  // Elsewhere than on a terminal the log's lines are the progress.
  if (context_.err_style().terminal) progress_ = context_.progress();
  const std::int64_t every = options_.checkpoint_every.value_or(0);
  try {
    for (std::int64_t step = first_step_; step <= options_.steps && !interrupted(); ++step) {
      one_step(step);
      if (every > 0 && step % every == 0) checkpoint();
    }
    const bool done = trainer_->steps_done() >= options_.steps;
    if (!done) {
      log::info(
          fmt::format("finishing: writing the checkpoint of step {}", trainer_->steps_done()));
    }
    // Asked for none, and nothing to go on with: none. An interrupted run always leaves one.
    if (!done || options_.checkpoint_every != 0) checkpoint();
  } catch (Error& error) {
    note_checkpoint(error);
    throw;
  }
  progress_.reset();
}

Json TrainRun::summary(const char* how) const {
  Json json = Json::object();
  json["schema"] = "elixir.summary";
  json["schema_version"] = kSchemaVersion;
  json["meta"] = make_meta("elixir-train", context_.argv());
  json["ended"] = how;
  json["run_id"] = run_id_.empty() ? Json() : Json(run_id_);
  json["run_directory"] = options_.dry_run ? Json() : Json(run_path_);
  json["program_fingerprint"] = fingerprint_;
  json["device"] = device_ == runtime::DeviceKind::kCuda ? "cuda" : "cpu";
  json["steps"] = options_.steps;
  json["steps_done"] = trainer_ ? trainer_->steps_done() : 0;
  json["parameters"] = captured_->program.parameter_count();
  json["first_loss"] = value_or_null(first_loss_);
  json["last_loss"] = value_or_null(last_loss_);
  json["first_held_out_loss"] = value_or_null(first_held_out_);
  json["held_out_loss"] = value_or_null(held_out_);
  json["loss_unit"] = loss_unit().empty() ? Json() : Json(loss_unit().substr(1));
  json["predicted"] = to_json(predicted());
  json["measured"] = nullptr;
  json["tokens_per_s"] = nullptr;
  json["model_flop_per_s"] = nullptr;
  json["promises_broken"] = Json::array();
  if (!measurements_.empty()) {
    const StepFigures figures = measurements_.figures();
    json["measured"] = to_json(figures);
    json["tokens_per_s"] = value_or_null(tokens_per_s(figures.step_ns));
    json["model_flop_per_s"] = flops_per_step_ / (figures.step_ns * 1e-9);
    json["promises_broken"] = compare(predicted(), figures, device_).broken;
  }
  json["checkpoint_step"] = last_checkpoint_step_ < 0 ? Json() : Json(last_checkpoint_step_);
  json["export"] = nullptr;
  if (options_.export_path && std::string_view(how) == "finished") {
    json["export"] = *options_.export_path;
  }
  return json;
}

void TrainRun::finish(const char* how) {
  const bool finished = std::string_view(how) == "finished";
  if (finished && options_.export_path) {
    const auto state = train::training_state_of(*trainer_);
    const Overwrite overwrite =
        options_.resume && !context_.given("--export") ? Overwrite::kAllow : context_.overwrite();
    if (train::export_format_of(*options_.export_path) == train::ExportFormat::kSafetensors) {
      train::export_safetensors(*options_.export_path, state.model, overwrite);
    } else {
      train::export_torchscript(
          *options_.export_path, options_.model, captured_->program, state.model, overwrite);
    }
  }
  if (finished && eval_data_ && !held_out_) held_out_ = evaluate();
  const Json document = summary(how);
  context_.document() = document;
  // A finished run that is resumed keeps the summary of its training.
  std::error_code ignored;
  if (!measurements_.empty() || !fs::exists(directory_->file("summary.json"), ignored)) {
    directory_->write("summary.json", dump(document));
  }
  if (!last_tasks_.empty()) {
    std::vector<report::Timeline> timelines;
    if (simulation_) timelines.push_back({"predicted rank 0", simulation_->tasks});
    timelines.push_back({"measured rank 0", last_tasks_});
    write_file_streamed(directory_->file("trace.json"), Overwrite::kAllow, [&](const Sink& sink) {
      report::write_schedule_trace(trainer_->schedule(), captured_->program, timelines, sink);
    });
  }
  if (!measurements_.empty()) {
    const StepFigures figures = measurements_.figures();
    const Comparison comparison = compare(predicted(), figures, device_);
    context_.print(report::fit(table_of(comparison), context_.out_style()));
    for (const std::string& broken : comparison.broken) context_.warn(broken);
    std::string text = fmt::format("loss {:.4f} -> {:.4f}", *first_loss_, *last_loss_);
    if (const auto rate = tokens_per_s(figures.step_ns)) {
      text += fmt::format(", {} tokens/s", report::format_rate(*rate));
    }
    text += fmt::format(", {} of the model",
                        report::format_flop_per_s(flops_per_step_ / (figures.step_ns * 1e-9)));
    context_.print(text + "\n");
  }
  if (finished && options_.export_path) {
    context_.print(fmt::format("exported to {}\n", *options_.export_path));
  }
  if (finished && held_out_) {
    context_.print(fmt::format("held-out loss {:.4f}{}\n", *held_out_, loss_unit()));
  }
  if (!finished) {
    log::info(fmt::format("stopped after step {}; go on with elixir-train --resume {}",
                          trainer_->steps_done(),
                          run_path_));
  }
}

Answer TrainRun::run() {
  choose_options();
  // What is no plan or no model says so, whatever lies where the run is to go.
  load_plan();
  model_ = capture::Model::load(options_.model);
  check_outputs();
  capture_model();
  open_data();
  choose_weights();
  predict();
  if (options_.resume) resume_state();
  announce();
  if (check_memory(plan_, memory_, context_) == Answer::kNo) return Answer::kNo;
  if (options_.dry_run) {
    context_.document() = summary("dry-run");
    return Answer::kYes;
  }
  start();
  const FinishesFirst step_and_checkpoint;
  train_steps();
  finish(trainer_->steps_done() >= options_.steps ? "finished" : "interrupted");
  throw_if_interrupted();
  return Answer::kYes;
}

}  // namespace

Answer train(const TrainOptions& flags, Context& context) {
  return TrainRun(flags, context).run();
}

}  // namespace elixir::tools
