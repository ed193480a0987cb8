// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "errors/compare.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "capture/capture.h"
#include "edit/aligned_products.h"
#include "errors/eager_module.h"
#include "operators/own.h"
#include "replay/program_replay.h"
#include "replay/replay_call.h"
#include "schedule/edited_program.h"

namespace elixir::errors {
namespace {

constexpr int kSm = 90;  // of the GPUs that the tables are for

program::Target target_of(c10::Device device) {
  return device.is_cuda() ? program::Target{program::Target::Kind::kCuda, kSm}
                          : program::Target{program::Target::Kind::kCpu, 0};
}

program::Program fused_program(const program::Program& captured,
                               plan::Arithmetic arithmetic,
                               Align align) {
  program::Program fused = schedule::with_fused_arithmetic(captured, arithmetic).program;
  if (align == Align::kWorthIt) return fused;
  std::vector<program::OperatorId> products;
  for (const program::Operator& op : fused.operators) {
    if (!edit::not_a_product(fused, {op.id})) products.push_back(op.id);
  }
  return edit::align_products(std::move(fused), products);
}

/// The fused program on the memory of an eager module's parameters and buffers.
class FusedReplay {
 public:
  FusedReplay(const capture::Captured& captured, const EagerModule& module, const Options& options)
      : replay_(fused_program(captured.program, options.arithmetic, options.align)),
        storages_(replay_.program().storages.size()) {
    const program::Program& program = replay_.program();
    for (const program::Parameter& parameter : program.parameters) {
      storages_[parameter.tensor.storage] = module.tensors().at(parameter.name).storage();
    }
    for (const program::Buffer& buffer : program.buffers) {
      storages_[buffer.tensor.storage] = module.tensors().at(buffer.name).storage();
    }
    for (const auto& [id, tensor] : captured.constants) {
      constants_.push_back(program.storages[id].on_host ? tensor : tensor.to(options.device));
      storages_[id] = constants_.back().storage();
    }
  }

  [[nodiscard]] const program::Program& program() const { return replay_.program(); }

  [[nodiscard]] Gradients run(const std::vector<at::Tensor>& inputs) {
    const program::Program& program = replay_.program();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      storages_[program.inputs[i].tensor.storage] = inputs[i].storage();
    }
    const replay::ReplayScope scope;
    replay_.run(storages_, 0, static_cast<program::OperatorId>(program.operators.size()));
    Gradients result;
    result.loss = at(program.loss);
    for (const program::Parameter& parameter : program.parameters) {
      if (parameter.gradient) result.by_name[parameter.name] = at(*parameter.gradient);
    }
    replay_.release_produced(storages_);
    return result;
  }

 private:
  [[nodiscard]] at::Tensor at(const program::TensorRef& tensor) const {
    return replay::make_shell(storages_[tensor.storage], tensor);
  }

  replay::ProgramReplay replay_;
  replay::StorageTable storages_;
  std::vector<at::Tensor> constants_;
};

std::vector<at::Tensor> draw(const program::Program& program, const Options& options, int batch) {
  at::manual_seed(static_cast<std::uint64_t>(options.seed + batch));
  std::vector<at::Tensor> inputs;
  for (const program::Input& input : program.inputs) {
    const auto dtype = capture::scalar_type(input.tensor.dtype);
    const at::Tensor drawn = program::is_floating(input.tensor.dtype)
                                 ? at::randn(input.tensor.sizes)
                                 : at::randint(options.range, input.tensor.sizes);
    inputs.push_back(drawn.to(options.device, dtype));
  }
  return inputs;
}

double sum_of_squares(const at::Tensor& values) {
  return values.square().sum().item<double>();
}

void record(SquaredErrors& errors,
            const at::Tensor& exact,
            const at::Tensor& eager,
            const at::Tensor& fused) {
  if (exact.scalar_type() != c10::kDouble) {
    throw std::runtime_error(errors.name + " is not computed in fp64");
  }
  errors.elements = exact.numel();
  errors.exact.push_back(sum_of_squares(exact));
  errors.eager.push_back(sum_of_squares(eager.to(c10::kDouble) - exact));
  errors.fused.push_back(sum_of_squares(fused.to(c10::kDouble) - exact));
}

}  // namespace

Comparison compare(const std::string& path, const Options& options) {
  const capture::Model model = capture::Model::load(path);
  capture::Options capturing;
  capturing.target = target_of(options.device);
  const capture::Captured captured = capture::capture(model, capturing);
  EagerModule exact(path, Dtypes::kFloat64, options.device);
  EagerModule eager(path, Dtypes::kAsSaved, options.device);
  FusedReplay fused(captured, eager, options);

  Comparison result;
  for (const program::Operator& op : fused.program().operators) {
    result.fused_losses += op.name == operators::kFusedLoss ? 1 : 0;
    result.aligned_products += operators::is_aligned_product(op.name) ? 1 : 0;
    result.fused_groups += op.name == operators::kFused ? 1 : 0;
  }
  result.loss.name = "loss";
  for (const program::Parameter& parameter : fused.program().parameters) {
    if (!parameter.gradient) continue;
    result.gradients.emplace_back();
    result.gradients.back().name = parameter.name;
  }
  for (int batch = 0; batch < options.batches; ++batch) {
    const std::vector<at::Tensor> inputs = draw(fused.program(), options, batch);
    const Gradients truth = exact.run(inputs), theirs = eager.run(inputs), ours = fused.run(inputs);
    record(result.loss, truth.loss, theirs.loss, ours.loss);
    for (SquaredErrors& errors : result.gradients) {
      record(errors,
             truth.by_name.at(errors.name),
             theirs.by_name.at(errors.name),
             ours.by_name.at(errors.name));
    }
  }
  return result;
}

SquaredErrors all_gradients(const Comparison& comparison) {
  SquaredErrors all;
  all.name = "all gradients";
  for (const SquaredErrors& errors : comparison.gradients) all.add(errors);
  return all;
}

}  // namespace elixir::errors
