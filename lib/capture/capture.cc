// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/capture.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/mse_loss.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/python/update_graph_executor_opt.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/profiling_graph_executor_impl.h>

#include "capture/fallbacks.h"
#include "capture/graph_edit.h"
#include "capture/inputs.h"
#include "capture/meta_storage.h"
#include "capture/missing_kernel.h"
#include "capture/model_state.h"
#include "capture/session.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

using program::Category;
using program::OperatorId;
using program::Phase;
using program::Program;

std::optional<at::ScalarType> floating_dtype(const std::string& precision) {
  if (precision == "bf16") return at::kBFloat16;
  if (precision == "fp16") return at::kHalf;
  return std::nullopt;
}

/// Plain autograd, one stream of operators, backward on this thread.
class PlainExecution {
 public:
  explicit PlainExecution(bool backward) : gradients_(backward) {
    torch::jit::getProfilingMode() = false;
    c10::AutogradState single = saved_;
    single.set_multithreading_enabled(false);
    single.set_grad_mode(backward);
    c10::AutogradState::set_tls_state(single);
  }
  ~PlainExecution() { c10::AutogradState::set_tls_state(saved_); }
  PlainExecution(const PlainExecution&) = delete;
  PlainExecution& operator=(const PlainExecution&) = delete;

 private:
  c10::AutogradState saved_ = c10::AutogradState::get_tls_state();
  c10::AutoGradMode gradients_;
  torch::jit::GraphOptimizerEnabledGuard plain_graphs_{false};
};

/// What forward returns, without the loss rule: a tensor, the first of a tuple, or the value of key
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

at::Tensor loss_from(const at::Tensor& output, const std::string& kind, const at::Tensor& target) {
  if (kind == "mse") return at::mse_loss(output, target);
  // Classes in the last dimension of an output that has one more than the target, else LibTorch's
  // rule.
  if (output.dim() > 2 &&
      output.sizes().slice(0, static_cast<std::size_t>(output.dim() - 1)) == target.sizes()) {
    return at::cross_entropy_loss(output.reshape({-1, output.size(-1)}), target.reshape({-1}));
  }
  return at::cross_entropy_loss(output, target);
}

at::Tensor make_loss(const c10::IValue& returned,
                     const Options& options,
                     const StepInputs& inputs) {
  at::Tensor output = first_tensor(returned);
  const std::vector<std::string> help{
      "return the loss alone, first of a tuple, or under the key \"loss\"",
      "or name how to make one from output and last input: --loss cross-entropy|mse"};
  if (!output.defined()) {
    throw Error(ErrorCode::kNoScalarLoss, "forward returns no tensor", help);
  }
  if (!options.loss.empty()) return loss_from(output, options.loss, inputs.tensors.back());
  if (output.numel() != 1 || !output.is_floating_point()) {
    throw Error(ErrorCode::kNoScalarLoss,
                "forward returns " + std::string(c10::toString(output.scalar_type())) + " " +
                    c10::str(output.sizes()) + " where a scalar loss is wanted",
                help);
  }
  if (options.backward && !output.requires_grad()) {
    throw Error(ErrorCode::kNoScalarLoss, "the loss does not depend on any parameter", help);
  }
  return output;
}

/// The last "RuntimeError: …" line of a message that TorchScript has wrapped in tracebacks.
std::string bare_message(const std::string& text) {
  std::string message = text;
  const std::string marker = "RuntimeError: ";
  if (const std::size_t at = message.rfind(marker); at != std::string::npos) {
    message = message.substr(at + marker.size());
  }
  if (const std::size_t end = message.find('\n'); end != std::string::npos) message.resize(end);
  while (!message.empty() && (message.back() == '.' || message.back() == ' ')) message.pop_back();
  return message;
}

Error model_rejects(const Session& session, const std::string& what, const StepInputs& inputs) {
  ErrorInfo info;
  info.code = ErrorCode::kModelRejectsInput;
  info.message = "the model rejects its inputs in " + session.place() + ": " +
                 bare_message(session.message.empty() ? what : session.message);
  for (std::size_t i = 0; i < inputs.names.size(); ++i) {
    info.notes.push_back("input " + inputs.names[i] + " is " +
                         c10::toString(inputs.tensors[i].scalar_type()) +
                         c10::str(inputs.tensors[i].sizes()));
  }
  info.help.emplace_back("give the shapes the model wants with --input NAME:DTYPE[D0,D1,…]");
  return Error(std::move(info));
}

/// Parameters, buffers and inputs of one capture, in the module.
struct Step {
  LoadedModule loaded;
  StepInputs inputs;
  std::vector<std::string> warnings;
};

Step prepare(const Model& model, const Options& options, c10::Device device) {
  const auto floating = floating_dtype(options.precision);
  Step step;
  step.loaded = load_module(ModelAccess::state(model).archive, device, floating);
  step.inputs = make_inputs(model, options, device, floating);
  set_devices(step.loaded.module, device_of(options.target));
  if (options.mode == "train") {
    step.warnings = set_training_mode(step.loaded.module, TrainingMode::kTrain);
  } else if (options.mode == "eval") {
    set_training_mode(step.loaded.module, TrainingMode::kEval);
  } else if (traced_for_evaluation(step.loaded.module)) {
    step.warnings.emplace_back(
        "the model was traced for evaluation: dropout and batch norm do not train (--mode train)");
  }
  if (options.target.kind == program::Target::Kind::kCuda &&
      has_packed_recurrent_layers(step.loaded.module)) {
    step.warnings.emplace_back(
        "recurrent layers over packed sequences are recorded step by step; CUDA fuses them in "
        "cuDNN, whose memory differs");
  }
  insert_module_markers(step.loaded.module);
  return step;
}

void declare(Session& session, const Step& step, Program& program) {
  for (const LoadedTensor& loaded : step.loaded.parameters) {
    if (!loaded.tensor.is_non_overlapping_and_dense()) {
      throw Error(ErrorCode::kUnsupportedModel, "parameter '" + loaded.names[0] + "' is not dense");
    }
    program::Parameter parameter;
    parameter.name = loaded.names[0];
    parameter.names = loaded.names;
    parameter.tensor = session.recorder.declare(loaded.tensor, Category::kParameter);
    parameter.requires_grad = loaded.tensor.requires_grad();
    program.parameters.push_back(std::move(parameter));
    session.parameter_names.emplace(loaded.tensor.unsafeGetTensorImpl(), loaded.names[0]);
  }
  for (const LoadedTensor& loaded : step.loaded.buffers) {
    program::Buffer buffer;
    buffer.name = loaded.names[0];
    buffer.names = loaded.names;
    buffer.tensor = session.recorder.declare(loaded.tensor, Category::kBuffer);
    program.buffers.push_back(std::move(buffer));
  }
  for (std::size_t i = 0; i < step.inputs.tensors.size(); ++i) {
    program.inputs.push_back(
        {.name = step.inputs.names[i],
         .tensor = session.recorder.declare(step.inputs.tensors[i], Category::kInput)});
  }
}

/// Forward and backward under the fallbacks; the loss.
at::Tensor run(Session& session, const Step& step, const Options& options) {
  const PlainExecution plain(options.backward);
  const CaptureScope scope;
  try {
    torch::jit::Module module = step.loaded.module;
    at::Tensor loss;
    {
      const c10::IValue returned = module.forward(step.inputs.arguments);
      loss = make_loss(returned, options, step.inputs);
    }
    if (options.backward) {
      session.begin_backward();
      loss.backward();
    }
    return loss;
  } catch (const Error& error) {
    if (session.failure) throw *session.failure;  // the first one
    throw error;
  } catch (const std::exception& error) {
    if (session.failure) throw *session.failure;
    if (!session.missing.empty()) throw missing_kernels(session);
    throw model_rejects(session, error.what(), step.inputs);
  }
}

/// Activations are made in forward and still there when backward runs; everything else made on the
/// way is temporary.
void categorise(const Program& program, std::vector<program::Storage>& storages) {
  const auto& operators = program.operators;
  const auto first_backward = static_cast<OperatorId>(
      std::find_if(operators.begin(),
                   operators.end(),
                   [](const program::Operator& call) { return call.phase == Phase::kBackward; }) -
      operators.begin());
  if (first_backward == static_cast<OperatorId>(operators.size())) return;
  for (program::Storage& storage : storages) {
    if (storage.category == Category::kTemporary && storage.id != program.loss.storage &&
        storage.allocated_at >= 0 && storage.allocated_at < first_backward &&
        storage.freed_after >= first_backward) {
      storage.category = Category::kActivation;
    }
  }
}

Captured record(const Model& model, const Options& options, CaptureOn where) {
  install_meta_allocator();
  const c10::Device device =
      where == CaptureOn::kMeta ? c10::Device(c10::kMeta) : device_of(options.target);
  const Step step = prepare(model, options, device);
  Session session(options.target, where, step.loaded.module);
  session.required_dtype = floating_dtype(options.precision);

  Captured captured;
  captured.warnings = step.warnings;
  Program& program = captured.program;
  program.target = options.target;
  program.precision = options.precision;
  program.mode = options.mode;
  declare(session, step, program);
  const at::Tensor loss = run(session, step, options);
  if (!session.missing.empty()) throw missing_kernels(session);

  Recorder& recorder = session.recorder;
  program.loss = recorder.ref(loss);
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const at::Tensor& gradient = step.loaded.parameters[i].tensor.grad();
    if (!gradient.defined()) continue;
    program.parameters[i].gradient = recorder.ref(gradient);
    program::Storage& storage =
        recorder.storages[static_cast<std::size_t>(program.parameters[i].gradient->storage)];
    if (storage.allocated_at >= 0) storage.category = Category::kGradient;
  }
  for (program::Buffer& buffer : program.buffers) {
    buffer.mutated = recorder.version_of(buffer.tensor.storage) > 0;
  }
  recorder.finish();
  program.operators = std::move(recorder.operators);
  categorise(program, recorder.storages);
  program.storages = std::move(recorder.storages);
  program.modules = session.modules.paths();
  program.draws_random = recorder.draws_random;
  captured.constants = std::move(recorder.constants);
  captured.unattributed_operators = std::count_if(program.operators.begin(),
                                                  program.operators.end(),
                                                  [](const auto& call) { return call.module < 0; });
  return captured;
}

}  // namespace

Captured capture(const Model& model, const Options& options) {
  return record(model, options, CaptureOn::kMeta);
}

Captured capture_on_device(const Model& model, const Options& options) {
  return record(model, options, CaptureOn::kDevice);
}

}  // namespace elixir::capture
