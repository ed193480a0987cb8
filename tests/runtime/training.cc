// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "runtime/training.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "core/allocation_unit.h"
#include "core/error.h"
#include "edit/aligned_products.h"
#include "edit/offload.h"
#include "fakes/hardware.h"
#include "operators/own.h"
#include "replay/counting_allocator.h"
#include "replay/replay_call.h"
#include "runtime/reference_process.h"
#include "runtime/state/constants.h"
#include "schedule/edited_program.h"
#include "schedule/plans.h"

namespace elixir::runtime {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  if (!value) throw std::runtime_error(fmt::format("{} is not set: run through meson test", name));
  return value;
}

c10::Storage storage_with(const at::Tensor& value,
                          const program::TensorRef& ref,
                          std::int64_t bytes) {
  at::Tensor memory = at::zeros({bytes}, at::TensorOptions().dtype(c10::kByte));
  replay::make_shell(memory.storage(), ref).copy_(value);
  return memory.storage();
}

}  // namespace

std::string model_path(const std::string& name) {
  return environment("ELIXIR_TEST_MODELS") + "/" + name + ".pt";
}

std::string bits_of(float loss) {
  return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(loss));
}

namespace {

capture::Options options_for(program::Target target, std::optional<std::int64_t> batch) {
  capture::Options options;
  options.target = target;
  options.batch = batch;
  return options;
}

}  // namespace

TestModel::TestModel(const std::string& path,
                     std::int64_t integer_range,
                     program::Target target,
                     std::optional<std::int64_t> batch)
    : TestModel(path, integer_range, options_for(target, batch)) {}

TestModel::TestModel(const std::string& path,
                     std::int64_t integer_range,
                     const capture::Options& options)
    : path_(path), model_(capture::Model::load(path)) {
  captured_ = capture::capture(model_, options);
  running_ = captured_.program;
  lifetimes_ = program::analyse_lifetimes(running_);
  for (const program::Input& input : captured_.program.inputs) {
    inputs_.push_back(
        {capture::scalar_type(input.tensor.dtype), input.tensor.sizes, integer_range});
  }
}

void TestModel::recompute(edit::Recompute choice) {
  std::erase_if(edits_,
                [](const plan::Edit& edit) { return edit.kind == plan::Edit::Kind::kRecompute; });
  running_ = schedule::apply_edits(captured_.program, edits_);
  edit({.kind = plan::Edit::Kind::kRecompute, .storages = edit::choose(running_, choice)});
}

void TestModel::offload(std::size_t nth, std::int64_t window_bytes) {
  const std::vector<program::StorageId> all = edit::offloadable(running_);
  plan::Edit edit{.kind = plan::Edit::Kind::kOffload, .window_bytes = window_bytes};
  for (std::size_t i = 0; i < all.size(); i += nth) edit.storages.push_back(all[i]);
  this->edit(edit);
}

void TestModel::scale_loss() {
  edit({.kind = plan::Edit::Kind::kScaleLoss});
}

void TestModel::fuse_loss() {
  edit({.kind = plan::Edit::Kind::kFuseLoss});
}

void TestModel::fuse_elementwise() {
  edit({.kind = plan::Edit::Kind::kFuseElementwise});
}

void TestModel::align_products() {
  std::vector<program::OperatorId> products;
  for (const program::Operator& op : running_.operators) {
    if (!edit::not_a_product(running_, {op.id})) products.push_back(op.id);
  }
  edit({.kind = plan::Edit::Kind::kAlignProducts, .products = products});
}

void TestModel::edit(const plan::Edit& edit) {
  edits_.push_back(edit);
  running_ = schedule::apply_edits(running_, {edit});
  lifetimes_ = program::analyse_lifetimes(running_);
  measured_threads_ = 0;
}

TensorSource TestModel::weights() const {
  return [model = model_](const std::string& name) { return model.read(name); };
}

MicroBatches TestModel::batch(std::int64_t step, int micro_batches, int first) const {
  MicroBatches batch;
  for (int m = first; m < first + micro_batches; ++m) {
    batch.push_back(reference::make_batch(inputs_, step, m));
  }
  return batch;
}

namespace {

program::StorageId id_of(const program::Argument& tensor) {
  return std::get<program::TensorRef>(tensor).storage;
}

}  // namespace

void TestModel::measure_workspaces() const {
  if (measured_threads_ == at::get_num_threads()) return;
  measured_threads_ = at::get_num_threads();
  costs_.assign(program().operators.size(), {});
  if (program().target.kind != program::Target::Kind::kCpu) return;
  replay::install_counting_allocator();
  replay::StorageTable storages(program().storages.size());
  const auto put = [&](const program::TensorRef& ref, const at::Tensor& value) {
    storages[ref.storage] = storage_with(value, ref, program().storages[ref.storage].bytes);
  };
  for (const program::Parameter& parameter : program().parameters)
    put(parameter.tensor, model_.read(parameter.name));
  for (const program::Buffer& buffer : program().buffers)
    put(buffer.tensor, model_.read(buffer.name));
  for (const auto& [id, tensor] : constants_of(program(), captured_.program, captured_.constants)) {
    storages[id] = tensor.storage();
  }
  const std::vector<at::Tensor> batch = reference::make_batch(inputs_, 1, 0);
  for (std::size_t i = 0; i < batch.size(); ++i) put(program().inputs[i].tensor, batch[i]);
  if (plan::takes_loss_gradient(edits_)) {
    const program::TensorRef& gradient = program().inputs.back().tensor;
    put(gradient, at::ones(gradient.sizes, capture::scalar_type(gradient.dtype)));
  }
  replay::DeviceAccount& account = replay::DeviceAccount::instance();
  const replay::ReplayScope replay;
  for (const program::Operator& op : program().operators) {
    if (!lifetimes_.executed[op.id]) continue;
    if (operators::movement_of(op.name) != operators::Movement::kNone) {
      for (const program::Argument& made : op.outputs)
        storages[id_of(made)] = storages[id_of(op.arguments[0])];
      continue;
    }
    replay::ReplayCall call(program(), op.id);
    account.reset_peak();
    std::int64_t known = account.charged_bytes();
    for (const program::StorageId id : call.fresh()) {
      known += rounded_allocation(program().storages[id].bytes);
    }
    {
      const replay::ChargeScope charge;
      call.run(storages);
    }
    costs_[op.id].workspace_bytes = account.peak_bytes() - known;
    for (const program::StorageId id : lifetimes_.released_after[op.id]) storages[id] = {};
  }
}

schedule::Schedule TestModel::lower(const plan::Plan& plan, bool clips) const {
  schedule::LoweringOptions options;
  options.clip_gradients = clips;
  return schedule::lower(program(), lifetimes_, plan, options);
}

schedule::Simulation TestModel::simulate(const plan::Plan& plan,
                                         const schedule::Schedule& schedule) const {
  measure_workspaces();
  const bool cuda = program().target.kind == program::Target::Kind::kCuda;
  const hardware::CostModel cost(cuda ? fakes::machine_of(2) : fakes::machine(false));
  return schedule::simulate(schedule, program(), lifetimes_, plan, cost, costs_);
}

plan::Plan TestModel::plan(const Placement& placement) const {
  std::int64_t parameters_bytes = 0;
  for (const program::Parameter& parameter : program().parameters)
    parameters_bytes += parameter.tensor.bytes();
  fakes::LayoutOptions layout;
  layout.chunk_bytes = parameters_bytes / placement.chunks;
  layout.parameters = placement.parameters;
  layout.gradients = placement.gradients;
  layout.optimizer = placement.optimizer;
  layout.accumulation_steps = placement.accumulation_steps;
  layout.world = placement.world;
  layout.replicas = placement.replicas;
  layout.reduced_by = placement.reduced_by;
  layout.reduce = placement.reduce;
  layout.reduce_per = placement.reduce_per;
  const bool cuda = program().target.kind == program::Target::Kind::kCuda;
  const bool needs_blocks =
      placement.parameters == plan::Home::kHost || placement.world > placement.replicas;
  for (layout.blocks = needs_blocks ? 1 : 0;; ++layout.blocks) {
    plan::Plan plan = fakes::lay_out(program(), layout);
    plan.programs = {{"train", program::fingerprint(captured_.program)}};
    plan.edits = edits_;
    if (!edits_.empty()) plan.edited_fingerprint = program::fingerprint(program());
    plan.hardware = {
        "", program().target.kind, cuda ? program().target.sm : 0, program().target.isa};
    plan.strategy = "test";
    plan.clips_gradients = placement.clips;
    plan.master = placement.master;
    plan.moment_dtype = placement.moments;
    if (placement.late_moments) plan.kept_gradients = placement.kept_gradients;
    for (std::size_t c = 0; placement.streams_updates && c < plan.chunks.size(); ++c) {
      plan.chunks[c].streams_update = c % 3 != 2;
      plan.cache.update_piece_elements = plan::kPieceUnitElements;
    }
    for (std::size_t c = 0; placement.late_moments && placement.clips && c < plan.chunks.size();
         ++c) {
      plan.chunks[c].late_moments = c % 4 != 3 && placement.optimizer == plan::Home::kHost &&
                                    placement.gradients == plan::Home::kHost;
    }
    try {
      const schedule::Simulation simulation = simulate(plan, lower(plan, placement.clips));
      plan.predicted.peak_allocated_bytes = simulation.device.bytes;
      plan.predicted.host_bytes = simulation.host_bytes;
      plan.predicted.traffic = simulation.traffic;
      plan.budgets.gpu_memory_bytes = simulation.device.bytes;
      plan.budgets.host_memory_bytes = simulation.host_bytes;
      return plan;
    } catch (const Error& error) {
      const bool too_few = error.info().code == ErrorCode::kInconsistentPlan;
      if (!too_few || layout.blocks == 0 || layout.blocks > 16) throw;
    }
  }
}

Outcome TestModel::eager(const TrainingRun& run,
                         int micro_batches,
                         const std::vector<std::string>& more) const {
  const std::string weights = fmt::format("{}.{}.weights", path_, getpid());
  std::vector<std::string> arguments = {path_, weights};
  const auto put = [&](const char* name, auto value) {
    arguments.push_back(fmt::format("{}={}", name, value));
  };
  const auto put_exactly = [&](const char* name, double value) {
    arguments.push_back(fmt::format("{}={:.17g}", name, value));
  };
  put("steps", run.steps);
  put("micro_batches", micro_batches);
  put("threads", run.threads);
  put("seed", run.seed);
  put_exactly("lr", run.learning_rate);
  put_exactly("beta1", run.optimizer.beta1);
  put_exactly("beta2", run.optimizer.beta2);
  put_exactly("eps", run.optimizer.eps);
  put_exactly("weight_decay", run.optimizer.weight_decay);
  put_exactly("clip_norm", run.optimizer.clip_norm);
  for (const std::string& pattern : run.optimizer.no_decay) put("no_decay", pattern);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    put("input",
        fmt::format("{}:{}:{}",
                    program::name_of(program().inputs[i].tensor.dtype),
                    inputs_[i].range,
                    fmt::join(inputs_[i].sizes, ",")));
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  Outcome outcome;
  outcome.losses = run_reference_trainer(arguments);
  std::ifstream in(weights, std::ios::binary);
  std::string name, bytes;
  while (std::getline(in, name) && std::getline(in, bytes)) {
    std::string data(std::stoull(bytes), '\0');
    in.read(data.data(), static_cast<std::streamsize>(data.size()));
    in.get();
    outcome.weights[name] = std::move(data);
  }
  std::remove(weights.c_str());
  return outcome;
}

Gradients TestModel::eager_gradients(const TrainingRun& run, std::vector<std::string> more) const {
  more.emplace_back("gradients=1");
  Gradients gradients;
  for (const auto& [name, bytes] : eager(run, 1, more).weights) {
    // clang before 16 does not let a lambda capture a structured binding.
    const auto parameter = std::find_if(
        program().parameters.begin(),
        program().parameters.end(),
        [&wanted = name](const program::Parameter& candidate) {
          return std::count(candidate.names.begin(), candidate.names.end(), wanted) > 0;
        });
    if (parameter == program().parameters.end()) throw std::runtime_error("no parameter " + name);
    const auto count =
        static_cast<std::int64_t>(bytes.size()) / program::element_bytes(parameter->tensor.dtype);
    const at::Tensor values = at::empty(
        {count}, at::TensorOptions().dtype(capture::scalar_type(parameter->tensor.dtype)));
    std::memcpy(values.mutable_data_ptr(), bytes.data(), bytes.size());
    const at::Tensor wide = values.to(c10::kFloat);
    const auto* first = wide.const_data_ptr<float>();
    gradients[parameter->name].assign(first, first + count);
  }
  return gradients;
}

Gradients gradients_of(const Trainer& trainer) {
  Gradients gradients;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    const at::Tensor moment = trainer.state(parameter.name, runtime::StatePart::kMoment1);
    if (!moment.defined()) continue;
    const auto* first = moment.const_data_ptr<float>();
    gradients[parameter.name].assign(first, first + moment.numel());
  }
  return gradients;
}

std::map<std::string, std::string> weights_of(const Trainer& trainer) {
  std::map<std::string, std::string> weights;
  for (const program::Parameter& parameter : trainer.program().parameters) {
    const at::Tensor value = trainer.state(parameter.name, runtime::StatePart::kParameter);
    weights[parameter.name] =
        std::string(static_cast<const char*>(value.const_data_ptr()), value.nbytes());
  }
  return weights;
}

}  // namespace elixir::runtime
