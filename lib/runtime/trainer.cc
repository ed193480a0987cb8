// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "capture/record/arguments/scalar_type.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/log.h"
#include "core/units.h"
#include "edit/kept_buffers.h"
#include "replay/program_replay.h"
#include "replay/replay_call.h"
#include "runtime/plan_check.h"
#include "runtime/ranks/task_recorder.h"
#include "runtime/state/buffer_store.h"
#include "runtime/state/constants.h"
#include "runtime/state/module_buffers.h"
#include "runtime/state/parameter_layout.h"
#include "runtime/state/parameter_store.h"
#include "runtime/step/executor.h"
#include "runtime/step/not_finite.h"
#include "runtime/step/optimizer_pass.h"
#include "runtime/trainer_internals.h"
#include "schedule/buffers/buffers.h"
#include "schedule/buffers/shared_gradients.h"
#include "schedule/edited_program.h"
#include "schedule/memory/evaluation.h"
#include "schedule/memory/operator_memory.h"

namespace elixir::runtime {
namespace {

using schedule::BufferRole;

/// Touching and locking this much memory takes seconds, so it is announced.
constexpr std::int64_t kWorthAWord = 8_GiB;

/// Logs how the start-up spends its time (--verbose).
class Stopwatch {
 public:
  void log(const std::string& what) const {
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - start_;
    elixir::log::verbose(fmt::format("{} in {}", what, format_ns(passed.count())));
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::unique_ptr<Device> make_device(const plan::Plan& plan, const TrainerOptions& options) {
  DeviceOptions wanted;
  wanted.memory_limit_bytes = plan.budgets.gpu_memory_bytes - plan.budgets.gpu_context_bytes;
  wanted.cpu_threads = at::get_num_threads();
  // The ranks of a machine have the same number of threads, and CPUs of their own.
  wanted.first_cpu = options.ranks.rank() % plan.ranks_per_node * wanted.cpu_threads;
  wanted.sm = plan.hardware.sm;
  wanted.poison = options.poison_evicted;
  wanted.deterministic = options.deterministic;
  wanted.cpu_order = options.cpu_order;
  wanted.before_task = options.before_task;
  wanted.ranks = options.ranks.steps;
  wanted.grid = plan::grid_of(plan);
  wanted.nccl_adds_up = plan::reduces_by_nccl(plan);
  return options.device == DeviceKind::kCuda ? make_cuda_device(wanted) : make_cpu_device(wanted);
}

schedule::Schedule lower_checked(const replay::ProgramReplay& replay,
                                 const plan::Plan& plan,
                                 const schedule::LoweringOptions& options) {
  schedule::Schedule schedule =
      schedule::lower(replay.program(), replay.lifetimes(), plan, options);
  const std::vector<std::string> broken = schedule::check(schedule, replay.program(), plan);
  if (!broken.empty()) {
    throw Error(ErrorCode::kInternal, "the schedule breaks {} of its rules", broken.size())
        .note(broken.front());
  }
  return schedule;
}

}  // namespace

/// A forward-only program that uses the training program's chunks and module buffers.
struct Evaluation {
  capture::Captured captured;
  replay::ProgramReplay replay;
  std::vector<ParameterLayout> layouts;
  std::unique_ptr<BufferStore> buffers;
  std::unique_ptr<Executor> executor;

  explicit Evaluation(const capture::Captured& evaluation)
      : captured(evaluation), replay(edit::keep_buffers(evaluation.program)) {}
};

struct Trainer::State {
  plan::Plan plan;
  TrainerOptions options;
  std::map<program::StorageId, at::Tensor> constants;
  replay::ProgramReplay replay;
  std::vector<ParameterLayout> layouts;
  OptimizerPass optimizer;
  std::unique_ptr<Device> device;
  std::unique_ptr<BufferStore> buffers;
  std::unique_ptr<ParameterStore> parameters;
  void* poison = nullptr;
  std::unique_ptr<Executor> executor;
  std::map<std::string, std::unique_ptr<Evaluation>> evaluations;  ///< by fingerprint
  std::set<std::string> infinite_buffers;  ///< names; they began with values that are not finite
  bool said_no_labels = false;
  LossScaler scaler;
  std::int64_t steps_done = 0;
  std::shared_ptr<PendingStep::Outcome> under_way;  ///< the step that is not settled yet

  State(capture::Captured captured, plan::Plan wanted, TrainerOptions trainer_options)
      : plan(std::move(wanted)),
        options(std::move(trainer_options)),
        constants(std::move(captured.constants)),
        replay(std::move(captured.program)),
        layouts(lay_out_parameters(replay.program(), plan, options.optimizer.no_decay)),
        optimizer(replay.program(), plan, options.optimizer, layouts, options.ranks.rank()),
        scaler(options.loss_scale) {}

  ~State() {
    if (device) device->abandon_steps();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] const program::Program& program() const { return replay.program(); }

  void build();
  void fill(const TensorSource& source);
  void set_buffer(const program::Buffer& buffer, const at::Tensor& value);
  [[nodiscard]] at::Tensor buffer(const program::Buffer& buffer) const;
  Evaluation& evaluation_of(const capture::Captured& captured);
  PendingStep start_step(const MicroBatches& batch,
                         double learning_rate,
                         const StepOptions& step_options);
  /// The losses of the step under way. Throws as PendingStep::loss() does.
  std::vector<float> wait_for_losses();
  /// Waits for the step under way, if there is one. Throws as PendingStep::report() does.
  void settle();
  /// Likewise; then the optimizer state is that of the last step, also where its moments are made
  /// late.
  void settle_state();
  /// Several ranks: the losses of all of them, in rank order, and their mean by these weights.
  void share_losses(StepReport& report, const std::vector<double>& weights) const;
  [[nodiscard]] bool scales_loss() const { return plan::scales_loss(plan.edits); }
  [[nodiscard]] std::int64_t updates_done() const {
    return steps_done - scaler.state().skipped_steps;
  }
  /// Begins the optimizer's and the loss's part of a step, when the one before is settled.
  void begin(PendingStep::Outcome& step, double learning_rate);
  /// What the micro-batches of all ranks count for (PendingStep::Outcome).
  [[nodiscard]] std::vector<double> weights_of(const std::vector<double>& labels) const;
  [[nodiscard]] std::size_t first_own() const {
    return static_cast<std::size_t>(plan.accumulation_steps * options.ranks.rank());
  }
  /// Whether it is so on every rank.
  [[nodiscard]] bool agreed(bool here) const;
  /// The failure of a step whose losses, gradients or updates are not finite, once nothing runs.
  [[nodiscard]] Error not_finite(const PendingStep::Outcome& step) const;
  void add_loss_scale(Error& error, const PendingStep::Outcome& failed) const;
};

void Trainer::State::build() {
  schedule::LoweringOptions lowering;
  lowering.clip_gradients = plan::waits_for_norm(plan.edits, options.optimizer.clip_norm);
  if (lowering.clip_gradients && schedule::shares_gradients(plan)) {
    throw Error(ErrorCode::kConflictingFlags,
                "clip_norm {} needs all gradients at once, and the plan has no room for them",
                options.optimizer.clip_norm)
        .help("set clip_norm to 0, or search a plan with clipping");
  }
  const Stopwatch watch;
  schedule::Schedule schedule = lower_checked(replay, plan, lowering);
  watch.log("plan lowered and checked");
  const Stopwatch allocation;
  const std::int64_t host_bytes = schedule::buffer_bytes(schedule.buffers, schedule::Arena::kHost);
  if (options.device == DeviceKind::kCuda && host_bytes >= kWorthAWord) {
    log::info(fmt::format("locking {} of host memory for the GPU", format_bytes(host_bytes)));
  }
  device = make_device(plan, options);
  buffers = std::make_unique<BufferStore>(*device, schedule.buffers, nullptr);
  const std::vector<void*> scratch = device->allocate(
      schedule::Arena::kHost,
      {static_cast<std::int64_t>(optimizer.sums() * sizeof(float)),
       static_cast<std::int64_t>(OptimizerPass::kHostClips * sizeof(kernels::Clip)),
       static_cast<std::int64_t>(optimizer.marks() * sizeof(std::uint32_t))});
  void* all_sums = buffers->find(schedule::BufferRole::kGradientSums, -1);
  void* rank_sums = buffers->find(schedule::BufferRole::kRankSums, -1);
  optimizer.set_memory({.device_sums = all_sums,
                        .rank_sums = static_cast<float*>(rank_sums ? rank_sums : all_sums),
                        .host_sums = static_cast<float*>(scratch[0]),
                        .host_clips = static_cast<kernels::Clip*>(scratch[1]),
                        .marks = static_cast<std::uint32_t*>(scratch[2])});
  allocation.log(
      fmt::format("memory allocated, {} of it on the host", format_bytes(device->host_bytes())));
  parameters = std::make_unique<ParameterStore>(
      *device, replay.program(), plan, *buffers, layouts, options.ranks);
  if (options.poison_evicted) {
    std::int64_t largest = 4096;
    for (const plan::Chunk& chunk : plan.chunks) largest = std::max(largest, chunk.bytes);
    const std::vector<char> nan(static_cast<std::size_t>(largest), '\xFF');
    poison = device->allocate_uncharged(largest);
    device->copy_now(poison, nan.data(), largest);
    for (const schedule::Buffer& buffer : schedule.buffers) {
      if (!schedule::is_passed_through(buffer.role)) continue;
      auto* memory = static_cast<char*>(buffers->at(buffer.id));
      for (std::int64_t done = 0; done < buffer.bytes; done += largest) {
        device->copy_now(memory + done, nan.data(), std::min(largest, buffer.bytes - done));
      }
    }
  }
  executor = std::make_unique<Executor>(
      ExecutorParts{
          *device, replay, plan, *buffers, layouts, &optimizer, constants, poison, options.ranks},
      std::move(schedule));
}

void Trainer::State::fill(const TensorSource& source) {
  const Stopwatch watch;
  double total_bytes = 1, done_bytes = 0;
  for (const program::Parameter& parameter : replay.program().parameters) {
    total_bytes += static_cast<double>(parameter.tensor.bytes());
  }
  for (const program::Parameter& parameter : replay.program().parameters) {
    throw_if_interrupted();
    if (options.on_fill) options.on_fill(done_bytes / total_bytes, parameter.name);
    const at::Tensor value = source(parameter.name);
    if (value.defined()) parameters->set(parameter.name, StatePart::kParameter, value);
    done_bytes += static_cast<double>(parameter.tensor.bytes());
  }
  for (const program::Buffer& buffer : replay.program().buffers) {
    const at::Tensor value = source(buffer.name);
    if (value.defined()) set_buffer(buffer, value);
  }
  watch.log("weights filled");
}

void Trainer::State::set_buffer(const program::Buffer& buffer, const at::Tensor& value) {
  write_buffer(*device, executor->storage_of(buffer), buffer, value);
  if (buffer.mutated && not_finite_elements(value) > 0) infinite_buffers.insert(buffer.name);
}

at::Tensor Trainer::State::buffer(const program::Buffer& buffer) const {
  const at::Tensor value = read_buffer(*device, executor->storage_of(buffer), buffer);
  if (!buffer.mutated || infinite_buffers.count(buffer.name) != 0) return value;
  if (const std::int64_t bad = not_finite_elements(value); bad > 0) {
    throw Error(
        ErrorCode::kNotFinite, "buffer `{}` is not finite after step {}", buffer.name, steps_done)
        .note(fmt::format("{} of its {} elements", format_count(bad), format_count(value.numel())))
        .help(
            "look for a division at 0 in what forward writes to it; lower the learning rate "
            "(--lr)");
  }
  return value;
}

Evaluation& Trainer::State::evaluation_of(const capture::Captured& captured) {
  std::unique_ptr<Evaluation>& kept = evaluations[program::fingerprint(captured.program)];
  if (kept) return *kept;
  auto made = std::make_unique<Evaluation>(captured);
  const program::Program& program = made->replay.program();
  made->layouts = lay_out_parameters(program, plan, {});
  schedule::LoweringOptions lowering;
  lowering.training = false;
  schedule::Schedule schedule = lower_checked(made->replay, plan, lowering);
  // Chunks, blocks and module buffers are those of the training program. So are inputs and
  // constants, if they fit.
  const std::vector<schedule::BufferId> lent =
      schedule::lend_buffers(executor->schedule(), replay.program(), schedule, program);
  const auto lend = [&](const schedule::Buffer& wanted) -> void* {
    if (wanted.role == BufferRole::kModuleBuffer) {  // several may share a storage
      const program::Buffer& buffer = program.buffers.at(static_cast<std::size_t>(wanted.chunk));
      return executor->storage_of(buffer_named(replay.program(), buffer.name)).mutable_data();
    }
    const schedule::BufferId id = lent.at(static_cast<std::size_t>(wanted.id));
    return id == schedule::kOwnBuffer ? nullptr : buffers->at(id);
  };
  made->buffers = std::make_unique<BufferStore>(*device, schedule.buffers, lend);
  made->executor = std::make_unique<Executor>(ExecutorParts{*device,
                                                            made->replay,
                                                            plan,
                                                            *made->buffers,
                                                            made->layouts,
                                                            nullptr,
                                                            made->captured.constants,
                                                            poison,
                                                            options.ranks},
                                              std::move(schedule));
  kept = std::move(made);
  return *kept;
}

Trainer::Trainer(capture::Captured captured,
                 plan::Plan plan,
                 TrainerOptions options,
                 const TensorSource& source) {
  check_plan(plan, captured.program, options);
  if (options.ranks.recorder != nullptr) {
    options.ranks.recorder->set_predicted_step(static_cast<double>(plan.predicted.step_ns));
  }
  if (options.cpu_threads > 0) at::set_num_threads(options.cpu_threads);
  if (!plan::waits_for_norm(plan.edits, options.optimizer.clip_norm)) {
    plan::make_moments_at_once(plan);
  }
  program::Program edited = schedule::edited_program(captured.program, plan);
  captured.constants = constants_of(edited, captured.program, captured.constants);
  captured.program = std::move(edited);
  state_ = std::make_unique<State>(std::move(captured), std::move(plan), std::move(options));
  state_->build();
  state_->fill(source);
}

Trainer::~Trainer() = default;

Error Trainer::State::not_finite(const PendingStep::Outcome& failed) const {
  const std::int64_t step = failed.number;
  if (plan.world > 1) {  // the ranks would have to look at their parts together
    Error error(ErrorCode::kNotFinite,
                "a loss, a gradient or an update of step {} is not finite on one of {} ranks",
                step,
                plan.world);
    add_loss_scale(error, failed);
    return error.help("lower the learning rate, clip gradients (--clip-norm), or check the data");
  }
  const std::vector<float> losses = executor->losses();
  for (std::size_t m = 0; m < losses.size(); ++m) {
    if (std::isfinite(losses[m]) || failed.weights[first_own() + m] == 0) continue;
    return Error(ErrorCode::kLossNotFinite, "the loss of step {} is {}", step, losses[m])
        .help("lower the learning rate, clip gradients (--clip-norm), or check the data")
        .note(fmt::format("micro-batch {} of {}", m, losses.size()));
  }
  std::vector<bool> kept(plan.chunks.size(), true);
  for (const schedule::Buffer& buffer : executor->schedule().buffers) {
    const bool shares = buffer.role == schedule::BufferRole::kGradients && buffer.shares >= 0;
    if (shares) kept[static_cast<std::size_t>(buffer.chunk)] = false;
  }
  Error error = not_finite_error({.number = step,
                                  .program = program(),
                                  .layouts = layouts,
                                  .parameters = *parameters,
                                  .optimizer = optimizer,
                                  .device = *device,
                                  .gradients_kept = std::move(kept)});
  add_loss_scale(error, failed);
  return error;
}

void Trainer::State::add_loss_scale(Error& error, const PendingStep::Outcome& failed) const {
  if (!failed.loss_scale || !optimizer.norm_overflowed()) return;
  error.note(fmt::format("gradients are those of the loss times a loss scale of {}{}",
                         *failed.loss_scale,
                         scaler.may_skip() ? "" : ", which becomes no smaller"));
  if (*failed.loss_scale > 1 && !scaler.may_skip()) {
    error.help("train with a smaller scale: --loss-scale dynamic, or a smaller minimum of it");
  }
}

std::vector<double> Trainer::State::weights_of(const std::vector<double>& labels) const {
  const auto own = static_cast<std::size_t>(plan.accumulation_steps);
  const std::size_t all = own * static_cast<std::size_t>(plan.world);
  if (labels.empty()) return std::vector<double>(all, 1.0);
  require(labels.size() == own, "labels are counted by micro-batch");
  std::vector<double> weights = labels;
  if (plan.world > 1) {
    weights.resize(all);
    options.ranks.control->all_gather(
        weights.data(), labels.data(), static_cast<std::int64_t>(own * sizeof(double)));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sum == 0) return weights;  // no gradient, and no loss
  // Equal numbers of labels give exactly 1.
  for (double& weight : weights) weight = static_cast<double>(all) * weight / sum;
  return weights;
}

void Trainer::State::share_losses(StepReport& report, const std::vector<double>& weights) const {
  if (plan.world > 1) {
    std::vector<float> all(report.micro_losses.size() * static_cast<std::size_t>(plan.world));
    options.ranks.control->all_gather(
        all.data(),
        report.micro_losses.data(),
        static_cast<std::int64_t>(report.micro_losses.size() * sizeof(float)));
    report.micro_losses = std::move(all);
  }
  report.loss =
      weighted_mean(report.micro_losses.data(), weights.data(), report.micro_losses.size());
}

bool Trainer::State::agreed(bool here) const {
  return plan.world == 1 ? here : on_all_ranks(*options.ranks.control, here);
}

void Trainer::State::settle() {
  if (!under_way) return;
  const std::shared_ptr<PendingStep::Outcome> step = std::exchange(under_way, nullptr);
  try {
    StepReport report = executor->finish();
    parameters->use_gradients_of(step->number);
    step->own_loss = weighted_mean(report.micro_losses.data(),
                                   step->weights.data() + step->first_own,
                                   report.micro_losses.size());
    share_losses(report, step->weights);
    // Each micro-batch that counts: an infinite one and its opposite would cancel out in the mean.
    bool finite_losses = true;
    for (std::size_t m = 0; m < report.micro_losses.size(); ++m) {
      finite_losses &= step->weights[m] == 0 || std::isfinite(report.micro_losses[m]);
    }
    report.learning_rate = step->learning_rate;
    report.loss_scale = step->loss_scale;
    report.skipped = scales_loss() && optimizer.norm_overflowed() && scaler.may_skip();
    if (!agreed(finite_losses && (report.skipped || optimizer.finite()))) {
      executor->abandon();  // the next step may be under way
      throw not_finite(*step);
    }
    if (!report.skipped) report.gradient_norm = optimizer.gradient_norm();
    if (scales_loss()) report.skipped ? scaler.skipped() : scaler.made();
    steps_done = step->number;
    step->report = std::move(report);
  } catch (...) {
    step->failure = std::current_exception();
    throw;
  }
}

void Trainer::State::settle_state() {
  settle();
  executor->make_late_moments();
}

std::vector<float> Trainer::State::wait_for_losses() {
  try {
    executor->wait_for_losses();
    return executor->losses();
  } catch (...) {  // the step may have failed elsewhere, and is discarded
    std::exchange(under_way, nullptr)->failure = std::current_exception();
    throw;
  }
}

PendingStep Trainer::State::start_step(const MicroBatches& batch,
                                       double learning_rate,
                                       const StepOptions& step_options) {
  auto outcome = std::make_shared<PendingStep::Outcome>();
  outcome->number = steps_done + (under_way ? 2 : 1);
  outcome->wait_for_losses = [this] { return wait_for_losses(); };
  outcome->settle = [this] { settle(); };
  outcome->first_own = first_own();
  outcome->weights = weights_of(step_options.labels);
  const bool no_labels = std::all_of(
      outcome->weights.begin(), outcome->weights.end(), [](double weight) { return weight == 0; });
  if (no_labels && options.ranks.rank() == 0 && !std::exchange(said_no_labels, true)) {
    log::warning(
        fmt::format("step {} has no labels: its loss is 0, and so is its gradient; later "
                    "steps without labels are not mentioned",
                    outcome->number));
  }
  // A refusal leaves the step before alone.
  MicroBatches inputs = executor->conforming_inputs(batch);
  const std::shared_ptr<PendingStep::Outcome> before = under_way;
  try {
    executor->issue(std::move(inputs), options.seed, outcome->number, step_options, [&] {
      settle();
      const bool follows_skip = before && before->report->skipped;
      begin(*outcome,
            follows_skip ? step_options.rate_after_skip.value_or(learning_rate) : learning_rate);
    });
  } catch (...) {
    // All steps under way are discarded.
    if (under_way) std::exchange(under_way, nullptr)->failure = std::current_exception();
    throw;
  }
  under_way = outcome;
  return PendingStep(std::move(outcome));
}

void Trainer::State::begin(PendingStep::Outcome& step, double learning_rate) {
  step.learning_rate = learning_rate;
  if (scales_loss()) step.loss_scale = scaler.state().scale;
  const double scale = step.loss_scale.value_or(1.0);
  optimizer.begin_step({.number = step.number,
                        .update = updates_done() + 1,
                        .learning_rate = learning_rate,
                        .micro_batches = plan.accumulation_steps * plan.world,
                        .loss_scale = scale});
  std::vector<double> gradients;
  for (int m = 0; m < plan.accumulation_steps; ++m) {
    gradients.push_back(step.weights[step.first_own + static_cast<std::size_t>(m)] * scale);
  }
  executor->set_loss_gradients(std::move(gradients));
}

PendingStep Trainer::step(const MicroBatches& batch,
                          double learning_rate,
                          const StepOptions& options) {
  return state_->start_step(batch, learning_rate, options);
}

void Trainer::prepare_evaluation(const capture::Captured& evaluation) {
  state_->settle();
  state_->evaluation_of(evaluation);
}

double Trainer::evaluate(const capture::Captured& evaluation,
                         const std::vector<at::Tensor>& inputs) {
  state_->settle();
  Evaluation& program = state_->evaluation_of(evaluation);
  program.executor->issue(
      program.executor->conforming_inputs({inputs}), state_->options.seed, 0, {}, [] {});
  StepReport report = program.executor->finish();
  const std::vector<double> alike(
      report.micro_losses.size() * static_cast<std::size_t>(state_->plan.world), 1.0);
  state_->share_losses(report, alike);
  return report.loss;
}

std::int64_t Trainer::steps_done() const {
  return state_->steps_done;
}
std::int64_t Trainer::updates_done() const {
  return state_->updates_done();
}
bool Trainer::has_step_under_way() const {
  return state_->under_way != nullptr;
}
std::optional<LossScaleState> Trainer::loss_scale() const {
  const LossScaleState& state = state_->scaler.state();
  if (!state_->scales_loss() && state.skipped_steps == 0) return std::nullopt;
  return state;
}
const plan::Plan& Trainer::plan() const {
  return state_->plan;
}
const program::Program& Trainer::program() const {
  return state_->program();
}
const schedule::Schedule& Trainer::schedule() const {
  return state_->executor->schedule();
}

at::Tensor Trainer::state(const std::string& parameter, StatePart part) const {
  state_->settle_state();
  return state_->parameters->get(parameter, part);
}
at::Tensor Trainer::buffer(const std::string& name) const {
  state_->settle();
  return state_->buffer(buffer_named(state_->program(), name));
}
void Trainer::set_state(const std::string& parameter, StatePart part, const at::Tensor& value) {
  state_->settle_state();
  state_->parameters->set(parameter, part, value);
}
void Trainer::set_buffer(const std::string& name, const at::Tensor& value) {
  state_->settle();
  state_->set_buffer(buffer_named(state_->program(), name), value);
}
void Trainer::set_steps_done(std::int64_t steps) {
  state_->settle_state();
  state_->steps_done = steps;
}

void Trainer::set_loss_scale(const LossScaleState& state) {
  state_->settle_state();
  state_->scaler.set_state(state);
}

HeldElements Trainer::held(const std::string& parameter, int rank) const {
  return state_->parameters->held(parameter, rank);
}

HeldElements Trainer::saved(const std::string& parameter, int rank) const {
  return state_->parameters->saved(parameter, rank);
}
at::Tensor Trainer::own_state(const std::string& parameter, StatePart part) const {
  state_->settle_state();
  return state_->parameters->get_own(parameter, part);
}
void Trainer::set_own_state(const std::string& parameter, StatePart part, const at::Tensor& value) {
  state_->settle_state();
  state_->parameters->set_own(parameter, part, value);
}

void TrainerInternals::replace_schedule(Trainer& trainer, schedule::Schedule schedule) {
  trainer.state_->settle_state();
  trainer.state_->executor->replace_schedule(std::move(schedule));
}
void TrainerInternals::set_device_limit(Trainer& trainer, std::int64_t bytes) {
  trainer.state_->settle();
  trainer.state_->device->set_memory_limit(bytes);
}

}  // namespace elixir::runtime
