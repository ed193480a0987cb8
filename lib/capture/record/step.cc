// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/step.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/csrc/jit/runtime/profiling_graph_executor_impl.h>

#include "capture/archive/model_state.h"
#include "capture/record/graph/graph_edit.h"
#include "capture/record/graph/kept_state.h"
#include "capture/record/graph/script_operators.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

std::vector<std::string> ways_to_a_loss() {
  return {"return the loss alone, first of a tuple, or under the key \"loss\"",
          "or name how to make one from output and last input: --loss cross-entropy|mse"};
}

/// The first tensor of forward's result: a tensor, the first of a tuple, or the value of the key
/// "loss".
at::Tensor first_tensor(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  if (value.isTuple() && !value.toTupleRef().elements().empty()) {
    return first_tensor(value.toTupleRef().elements()[0]);
  }
  if (value.isList() && !value.toListRef().empty()) return first_tensor(value.toListRef()[0]);
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      if (entry.key().isString() && entry.key().toStringRef() == "loss") {
        return first_tensor(entry.value());
      }
    }
  }
  return {};
}

/// What there is instead of a loss.
std::string without_loss(const c10::IValue& value) {
  if (!value.isGenericDict()) return "no tensor";
  std::vector<std::string> keys;
  for (const auto& entry : value.toGenericDict()) {
    if (entry.key().isString()) keys.push_back(entry.key().toStringRef());
  }
  return fmt::format("a dict without the key `loss`; it has `{}`", fmt::join(keys, "`, `"));
}

at::Tensor loss_from(const at::Tensor& output, const std::string& kind, const at::Tensor& target) {
  if (kind == "mse") {
    if (!output.sizes().equals(target.sizes()) || !target.is_floating_point()) {
      throw Error(ErrorCode::kNoScalarLoss,
                  "--loss mse: the output is {} {}, the last input is {} {}",
                  c10::toString(output.scalar_type()),
                  c10::str(output.sizes()),
                  c10::toString(target.scalar_type()),
                  c10::str(target.sizes()))
          .help("give both one shape and a floating-point dtype, in the model");
    }
    return at::mse_loss(output, target);
  }
  // If the output has one more dimension than the target, its last dimension holds the classes.
  // Otherwise LibTorch's rule applies.
  if (output.dim() > 2 &&
      output.sizes().slice(0, static_cast<std::size_t>(output.dim() - 1)) == target.sizes()) {
    return at::cross_entropy_loss(output.reshape({-1, output.size(-1)}), target.reshape({-1}));
  }
  return at::cross_entropy_loss(output, target);
}

Error no_gradient(const std::vector<LoadedTensor>& parameters) {
  const bool any_trains = std::any_of(parameters.begin(), parameters.end(), [](const auto& each) {
    return each.tensor.requires_grad();
  });
  if (any_trains) {
    return Error(ErrorCode::kNoScalarLoss, "the loss does not depend on any parameter that trains")
        .help(ways_to_a_loss());
  }
  Error error(ErrorCode::kNoScalarLoss, "the model has no parameter that trains");
  if (!parameters.empty()) {
    error.note(fmt::format("all {} are frozen (requires_grad=False)", parameters.size()))
        .help("call requires_grad_() on those to train, and export the model again");
  }
  return error;
}

/// Training a part of a model is a choice (a frozen norm), so the whole and a part are told apart.
std::optional<std::string> warning_of_evaluation(FixedCalls calls) {
  if (calls.evaluating == 0) return std::nullopt;
  if (calls.evaluating == calls.all) {
    return "the model was traced for evaluation: dropout and batch norm do not train (--mode "
           "train)";
  }
  return fmt::format(
      "traced for evaluation, so without training: {} of {} calls of dropout and norms (--mode "
      "train)",
      calls.evaluating,
      calls.all);
}

}  // namespace

std::optional<at::ScalarType> floating_dtype(program::Precision precision) {
  if (precision == program::Precision::kBFloat16) return at::kBFloat16;
  if (precision == program::Precision::kFloat16) return at::kHalf;
  return std::nullopt;
}

PlainExecution::PlainExecution(bool gradients, BackwardThread thread) : gradients_(gradients) {
  torch::jit::getProfilingMode() = false;
  c10::AutogradState plain = saved_;
  plain.set_multithreading_enabled(thread == BackwardThread::kEngine);
  plain.set_grad_mode(gradients);
  c10::AutogradState::set_tls_state(plain);
}

PlainExecution::~PlainExecution() {
  c10::AutogradState::set_tls_state(saved_);
}

at::Tensor make_loss(const c10::IValue& returned, const Options& options, const Step& step) {
  at::Tensor output = first_tensor(returned);
  if (!output.defined()) {
    throw Error(ErrorCode::kNoScalarLoss, "forward returns {}", without_loss(returned))
        .help(ways_to_a_loss());
  }
  if (!options.loss.empty()) return loss_from(output, options.loss, step.inputs.tensors.back());
  if (output.numel() != 1 || !output.is_floating_point()) {
    throw Error(ErrorCode::kNoScalarLoss,
                "forward returns {} {} where a scalar loss is wanted",
                c10::toString(output.scalar_type()),
                c10::str(output.sizes()))
        .help(ways_to_a_loss());
  }
  if (options.backward && !output.requires_grad()) {
    throw no_gradient(step.loaded.parameters);
  }
  return output;
}

Step prepare_step(const Model& model, const Options& options, c10::Device device) {
  const auto floating = floating_dtype(options.precision);
  Step step;
  step.loaded = load_module(ModelAccess::state(model).archive, device, floating);
  guard_lists(step.loaded.module);
  refuse_assigned_state(step.loaded.module);
  step.inputs = make_inputs(model, options, device, floating);
  refuse_autocast(step.loaded.module, device_of(options.target));
  set_devices(step.loaded.module, device_of(options.target));
  if (options.mode == program::Mode::kTrain) {
    step.warnings = set_training_mode(step.loaded.module, TrainingMode::kTrain);
  } else if (options.mode == program::Mode::kEvaluate) {
    set_training_mode(step.loaded.module, TrainingMode::kEval);
  } else if (auto warning = warning_of_evaluation(calls_with_fixed_mode(step.loaded.module))) {
    step.warnings.push_back(std::move(*warning));
  }
  return step;
}

}  // namespace elixir::capture
