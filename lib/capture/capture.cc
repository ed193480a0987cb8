// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/capture.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capture/cuda_architectures.h"
#include "capture/host_cpu.h"
#include "capture/record/arguments/values.h"
#include "capture/record/dispatch/fallbacks.h"
#include "capture/record/dispatch/meta_storage.h"
#include "capture/record/dispatch/missing_kernel.h"
#include "capture/record/dispatch/session.h"
#include "capture/record/graph/graph_edit.h"
#include "capture/record/step.h"
#include "capture/record/untrained_scalars.h"
#include "core/allocation_unit.h"
#include "core/error.h"
#include "program/limits.h"
#include "program/names/labels.h"

namespace elixir::capture {
namespace {

using program::Category;
using program::OperatorId;
using program::Phase;
using program::Program;

/// Whether `line` is that of an exception at the end of a traceback: "builtins.ValueError: …".
bool names_exception(std::string_view line) {
  const std::size_t end = line.find(':');
  if (end == 0 || end == std::string_view::npos) return false;
  return std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
}

/// What an exception says, without the tracebacks that TorchScript puts before it. Of LibTorch's
/// own, the first line; of one that the model raises, its class and all its lines.
std::string bare_message(const std::string& text) {
  constexpr std::string_view kEndOfTraceback = "<--- HERE", kOfLibTorch = "RuntimeError: ";
  std::size_t at = text.rfind(kEndOfTraceback);
  at = at == std::string::npos ? 0 : text.find('\n', at);
  const auto next_line = [&](std::size_t from) {
    const std::size_t end = text.find('\n', from);
    return end == std::string::npos ? end : end + 1;
  };
  if (at != 0) {
    while (at != std::string::npos && !names_exception(std::string_view(text).substr(at))) {
      at = next_line(at);
    }
  }
  if (at == std::string::npos) at = 0;
  std::string message = text.substr(at);
  const bool of_libtorch = at == 0 || message.rfind(kOfLibTorch, 0) == 0;
  if (message.rfind(kOfLibTorch, 0) == 0) message.erase(0, kOfLibTorch.size());
  if (of_libtorch && message.rfind("AssertionError:", 0) != 0) {
    if (const std::size_t end = message.find('\n'); end != std::string::npos) message.resize(end);
  } else {
    // A class has its module before it.
    message.erase(0, message.rfind('.', message.find(':')) + 1);
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && std::string_view(". :").find(message.back()) != std::string::npos) {
    message.pop_back();
  }
  return message;
}

/// Whether autograd refuses a change in place that it allows under no_grad.
bool misses_no_grad(std::string_view message) {
  const auto says = [&](std::string_view text) {
    return message.find(text) != std::string_view::npos;
  };
  return says("a leaf Variable that requires grad is being used in an in-place operation") ||
         says("arguments don't support automatic differentiation") ||
         says("modified by an inplace operation");
}

Error changes_in_place(const Session& session, const std::string& message) {
  const bool backward = session.position().phase() == Phase::kBackward;
  return Error(ErrorCode::kUnsupportedModel,
               "{} changes a tensor in place that has a gradient, in {}: {}",
               backward ? "the model" : "forward",
               session.position().place(),
               message)
      .note(
          "torch.jit.trace does not keep torch.no_grad(): what the model does under it is traced "
          "as if it trained")
      .help("let it work on copies, as in x.detach().clone(), and export the model again")
      .help("or keep no_grad: torch.jit.script, for the part that uses it");
}

/// "bf16" when inputs in bf16 meet parameters of another dtype; "" when all have one dtype.
std::string precision_of_inputs(const Step& step) {
  if (step.loaded.parameters.empty()) return {};
  const at::ScalarType parameters = step.loaded.parameters[0].tensor.scalar_type();
  for (const at::Tensor& input : step.inputs.tensors) {
    const at::ScalarType dtype = input.scalar_type();
    if (dtype == parameters) continue;
    if (dtype == at::kBFloat16) return "bf16";
    if (dtype == at::kHalf) return "fp16";
  }
  return {};
}

/// `shapes_given`: by the caller, not by the archive.
Error model_rejects(const Session& session,
                    const std::string& what,
                    const Step& step,
                    bool shapes_given) {
  const Findings& findings = session.findings();
  const StepInputs& inputs = step.inputs;
  const std::string place = session.position().place();
  const std::string message = bare_message(findings.message().empty() ? what : findings.message());
  if (misses_no_grad(message)) return changes_in_place(session, message);
  ErrorInfo info;
  info.code = ErrorCode::kModelRejectsInput;
  info.message = "the model rejects its inputs in " + place;
  if (session.position().phase() == Phase::kBackward) {
    const std::string& op = findings.refused_operator();
    info.message = "backward fails at " + (op.empty() ? "" : op + " ") + "in " + place;
  } else if (!findings.refused_operator().empty()) {
    info.notes.push_back("LibTorch refuses " + findings.refused_operator());
  }
  info.message += ": " + message;
  for (std::size_t i = 0; i < inputs.names.size(); ++i) {
    info.notes.push_back("input " + inputs.names[i] + " is " +
                         c10::toString(inputs.tensors[i].scalar_type()) +
                         c10::str(inputs.tensors[i].sizes()));
  }
  if (const std::string precision = precision_of_inputs(step); !precision.empty()) {
    info.help.push_back("did you mean --precision " + precision + "? Parameters get it, too");
  }
  if (shapes_given) {
    info.help.emplace_back("give the shapes the model wants with --input NAME:DTYPE[D0,D1,…]");
  } else {
    info.notes.emplace_back("the inputs are those that the model was exported with");
  }
  return Error(std::move(info));
}

void declare(Session& session, const Step& step, Program& program) {
  const auto declared =
      [&session](
          const char* what, const std::string& name, const at::Tensor& tensor, Category category) {
        try {
          return session.recorder().declare(tensor, category);
        } catch (const UnheldDType& error) {
          throw Error(ErrorCode::kUnsupportedModel,
                      "{} '{}' has dtype {}, which programs do not hold",
                      what,
                      name,
                      error.dtype())
              .help(kOtherDTypes);
        }
      };
  for (const LoadedTensor& loaded : step.loaded.parameters) {
    program::Parameter parameter;
    parameter.name = loaded.names[0];
    parameter.names = loaded.names;
    parameter.tensor = declared("parameter", parameter.name, loaded.tensor, Category::kParameter);
    parameter.requires_grad = loaded.tensor.requires_grad();
    program.parameters.push_back(std::move(parameter));
    session.position().name_parameter(loaded.tensor, loaded.names[0]);
  }
  for (const LoadedTensor& loaded : step.loaded.buffers) {
    program::Buffer buffer;
    buffer.name = loaded.names[0];
    buffer.names = loaded.names;
    buffer.tensor = declared("buffer", buffer.name, loaded.tensor, Category::kBuffer);
    buffer.persistent = loaded.persistent;
    program.buffers.push_back(std::move(buffer));
  }
  for (std::size_t i = 0; i < step.inputs.tensors.size(); ++i) {
    const std::string& name = step.inputs.names[i];
    program.inputs.push_back(
        {.name = name,
         .tensor = declared("input", name, step.inputs.tensors[i], Category::kInput)});
  }
}

void warn_of_untrained(const c10::IValue& returned,
                       const at::Tensor& loss,
                       std::vector<std::string>& warnings) {
  const std::vector<std::string> names = untrained_scalars(returned, loss);
  if (names.empty()) return;
  warnings.push_back(
      fmt::format("forward returns scalars that do not train beside its loss: {}; to train them, "
                  "return their sum as the loss",
                  fmt::join(names, ", ")));
}

/// A traced model has lost its no_grad where what forward writes to a buffer carries a gradient.
void warn_of_trained_buffers(const std::vector<LoadedTensor>& buffers,
                             std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const LoadedTensor& buffer : buffers) {
    if (buffer.tensor.requires_grad()) names.push_back(fmt::format("`{}`", buffer.names.front()));
  }
  if (names.empty()) return;
  constexpr std::size_t kMostShown = 3;
  const std::size_t more = names.size() - std::min(names.size(), kMostShown);
  names.resize(names.size() - more);
  warnings.push_back(fmt::format(
      "forward writes values with a gradient to {}{}: torch.jit.trace does not keep "
      "torch.no_grad(), so the loss trains through them; write x.detach() there to stop that",
      fmt::join(names, ", "),
      more > 0 ? fmt::format(" and {} more buffers", more) : ""));
}

/// Runs forward and backward under the fallbacks, and returns the loss.
at::Tensor run(Session& session,
               const Step& step,
               const Options& options,
               std::vector<std::string>& warnings) {
  const PlainExecution plain(options.backward, BackwardThread::kThis);
  const CaptureScope scope;
  const Findings& findings = session.findings();
  try {
    torch::jit::Module module = step.loaded.module;
    at::Tensor loss;
    {
      // Runs the model's forks on this thread, because calls on other threads are not recorded.
      const auto inline_tasks = [](const std::function<void()>& task) { task(); };
      const auto future =
          module.get_method("forward").run_async(step.inputs.arguments, {}, inline_tasks);
      future->waitAndThrow();
      const c10::IValue returned = future->value();
      loss = make_loss(returned, options, step);
      if (options.backward) warn_of_untrained(returned, loss, warnings);
    }
    if (options.backward) {
      session.begin_backward();
      loss.backward();
    }
    return loss;
  } catch (const Error& error) {
    if (findings.failure()) throw *findings.failure();  // the first failure
    throw error;
  } catch (const std::exception& error) {
    if (findings.failure()) throw *findings.failure();
    if (!findings.missing().empty()) throw missing_kernels(session);
    const bool shapes_given = !options.inputs.empty() || options.batch.has_value();
    throw model_rejects(session, error.what(), step, shapes_given);
  }
}

/// Activations are allocated in forward and alive when backward runs. Everything else allocated in
/// between is temporary.
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

/// Refuses programs so large that sums over them would overflow 64 bits.
void check_size(const Program& program) {
  constexpr const char* kLookAtSizes =
      "look at the sizes of the inputs and at those that the model computes";
  long double bytes = 0;
  for (const program::Storage& storage : program.storages) {
    bytes += static_cast<long double>(storage.bytes) + kAllocationUnitBytes;
    if (storage.bytes < 0 || bytes > program::kMostBytes) {
      throw Error(ErrorCode::kUnsupportedModel, "the tensors of a step are larger than any memory")
          .help(kLookAtSizes);
    }
  }
  long double flops = 0;
  for (const program::Operator& call : program.operators) {
    flops += static_cast<long double>(call.flops);
    if (flops > program::kMostFlops) {
      throw Error(
          ErrorCode::kUnsupportedModel,
          "a step does more work than can be counted: over {:.1e} floating point operations",
          static_cast<double>(program::kMostFlops))
          .note(fmt::format("up to {} in {}", call.name, program::module_label(program, call)))
          .help(kLookAtSizes);
    }
  }
}

Captured record(const Model& model, const Options& wanted, CaptureOn where) {
  Options options = wanted;
  check_target(wanted.target);
  options.target = resolved(wanted.target);
  install_meta_allocator();
  const c10::Device device =
      where == CaptureOn::kMeta ? c10::Device(c10::kMeta) : device_of(options.target);
  const Step step = prepare_step(model, options, device);
  insert_module_markers(step.loaded.module);
  Session session(options.target, where, step.loaded.module);
  session.require_dtype(floating_dtype(options.precision));

  Captured captured;
  captured.warnings = step.warnings;
  Program& program = captured.program;
  program.target = options.target;
  program.precision = options.precision;
  program.mode = options.mode;
  declare(session, step, program);
  const at::Tensor loss = run(session, step, options, captured.warnings);
  if (!session.findings().missing().empty()) throw missing_kernels(session);
  for (std::string& hint : session.findings().hints()) captured.warnings.push_back(std::move(hint));

  if (options.backward) warn_of_trained_buffers(step.loaded.buffers, captured.warnings);

  Recorder& recorder = session.recorder();
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
  program.modules = session.position().module_paths();
  check_size(program);
  program.draws_random = recorder.draws_random;
  captured.constants = std::move(recorder.constants);
  captured.unattributed_operators = std::count_if(program.operators.begin(),
                                                  program.operators.end(),
                                                  [](const auto& call) { return call.module < 0; });
  return captured;
}

}  // namespace

Captured capture(const Model& model, const Options& options) {
  try {
    return record(model, options, CaptureOn::kMeta);
  } catch (const c10::Error& error) {  // not from the model's own calls
    throw Error(ErrorCode::kUnsupportedModel,
                "LibTorch refuses the model: {}",
                bare_message(error.what_without_backtrace()));
  }
}

Captured capture_on_device(const Model& model, const Options& options) {
  return record(model, options, CaptureOn::kDevice);
}

}  // namespace elixir::capture
