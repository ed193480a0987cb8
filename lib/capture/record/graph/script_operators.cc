// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/script_operators.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/custom_operator.h>
#include <torch/csrc/jit/runtime/operator.h>
#include <torch/csrc/jit/runtime/print_handler.h>

#include "capture/record/dispatch/fallbacks.h"
#include "capture/record/dispatch/session.h"
#include "capture/record/graph/inner_blocks.h"
#include "capture/record/refused/enumerations.h"
#include "core/error.h"

namespace elixir::capture {
namespace {

using torch::jit::Operation;
using torch::jit::Operator;
using torch::jit::Stack;

std::optional<std::size_t> position_of(const c10::FunctionSchema& schema, const char* name) {
  const auto position = schema.argumentIndexWithName(name);
  return position ? std::optional<std::size_t>(static_cast<std::size_t>(*position)) : std::nullopt;
}

/// Moves the constant to where the target has it. For the CPU it is already there.
at::Tensor on_device(const Session& session, const at::Tensor& constant, c10::Device wanted) {
  if (!wanted.is_meta() && wanted.type() != session.device().type()) return constant.to(wanted);
  if (session.device().is_cpu()) return constant;
  return constant.to(session.on_meta() ? c10::Device(c10::kMeta) : session.device());
}

/// Makes the tensor in real memory without recording a call: it is a constant of the program.
Operation make_constant(const c10::FunctionSchema& schema, Operation original) {
  const auto device_at = position_of(schema, "device");
  const std::size_t count = schema.arguments().size();
  return [device_at, count, schema, original = std::move(original)](Stack& stack) mutable {
    check_enumerations(schema, c10::ArrayRef<c10::IValue>(&stack[stack.size() - count], count));
    const Session* session = Session::current();
    if (session == nullptr) {
      original(stack);
      return;
    }
    std::optional<c10::Device> device;
    if (device_at) {
      c10::IValue& value = stack[stack.size() - count + *device_at];
      if (value.isDevice()) device = value.toDevice();
      value = c10::IValue();
    }
    {
      const OutsideCapture outside;
      original(stack);
    }
    if (!device || !stack.back().isTensor()) return;
    const at::Tensor constant = stack.back().toTensor();
    stack.back() = on_device(*session, constant, *device);
  };
}

/// A list made from a constant is computed. A list made from step data depends on that data and is
/// refused.
Operation read_constant(const std::string& name, Operation original) {
  return [name, original = std::move(original)](Stack& stack) mutable {
    Session* session = Session::current();
    if (session != nullptr) {
      // Numbers that describe the list come after the tensor.
      const auto tensor = std::find_if(
          stack.rbegin(), stack.rend(), [](const c10::IValue& value) { return value.isTensor(); });
      if (tensor != stack.rend() && tensor->toTensor().is_meta()) {
        session->refuse_data_dependent(name);
      }
    }
    const OutsideCapture outside;
    original(stack);
  };
}

std::vector<std::shared_ptr<Operator>> operators_named(const char* name) {
  return torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name));
}

void replace(const Operator& original, Operation operation) {
  // A copy, because deregistering destroys the original.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const c10::FunctionSchema schema = original.schema();
  const c10::AliasAnalysisKind aliases = original.aliasAnalysisKind();
  torch::jit::deregisterOperator(schema);
  torch::jit::registerOperator(Operator(schema.name(),
                                        schema.overload_name(),
                                        schema.arguments(),
                                        schema.returns(),
                                        std::move(operation),
                                        aliases));
}

void replace_makers(const char* name) {
  for (const std::shared_ptr<Operator>& op : operators_named(name)) {
    if (op->isC10Op() || op->schema().arguments().at(0).type()->kind() != c10::TypeKind::ListType) {
      continue;
    }
    replace(*op, make_constant(op->schema(), op->getOperation()));
  }
}

void replace_readers(const char* name) {
  for (const std::shared_ptr<Operator>& op : operators_named(name)) {
    if (!op->isC10Op()) replace(*op, read_constant(name, op->getOperation()));
  }
}

/// Whether what a script asks of this tensor's device is answered for the target: the meta device
/// is capture's own.
bool is_of_step(const Session* session, const c10::IValue& value) {
  return session != nullptr && value.isTensor() && value.toTensor().defined() &&
         value.toTensor().is_meta();
}

void replace_device_query(const char* name, bool (*answer)(c10::Device)) {
  for (const std::shared_ptr<Operator>& op : operators_named(name)) {
    if (op->isC10Op() || !op->hasOperation()) continue;
    replace(*op, [answer, original = op->getOperation()](Stack& stack) mutable {
      const Session* session = Session::current();
      if (!is_of_step(session, stack.back())) return original(stack);
      stack.back() = answer(session->device());
    });
  }
}

/// Operators on devices themselves, such as comparing two: they see the target's device. (Tensors
/// are still made on the meta device.)
void replace_device_use(const char* name) {
  for (const std::shared_ptr<Operator>& op : operators_named(name)) {
    const auto& arguments = op->schema().arguments();
    const bool of_devices =
        !arguments.empty() && arguments.front().type()->kind() == c10::TypeKind::DeviceObjType;
    if (op->isC10Op() || !op->hasOperation() || !of_devices) continue;
    replace(*op, [count = arguments.size(), original = op->getOperation()](Stack& stack) mutable {
      if (const Session* session = Session::current()) {
        for (std::size_t i = stack.size() - count; i < stack.size(); ++i) {
          if (stack[i].isDevice() && stack[i].toDevice().is_meta()) stack[i] = session->device();
        }
      }
      original(stack);
    });
  }
}

/// Checked because the interpreter divides integers by the processor's instruction, which may trap.
void check_division(const Stack& stack, const char* name) {
  if (stack.size() < 2) return;
  const c10::IValue& by = stack[stack.size() - 1];
  const c10::IValue& number = stack[stack.size() - 2];
  if (!by.isInt() || !number.isInt()) return;
  TORCH_CHECK(by.toInt() != 0, "ZeroDivisionError: integer division or modulo by zero in ", name);
  TORCH_CHECK(by.toInt() != -1 || number.toInt() != std::numeric_limits<std::int64_t>::min(),
              "the quotient of ",
              number.toInt(),
              " and -1 overflows in ",
              name);
}

/// Registers all overloads again in their order, because the compiler takes the first that matches.
void replace_divisions(const char* name) {
  for (const std::shared_ptr<Operator>& op : operators_named(name)) {
    if (op->isC10Op() || !op->hasOperation()) continue;
    replace(*op, [name, original = op->getOperation()](Stack& stack) mutable {
      check_division(stack, name);
      original(stack);
    });
  }
}

/// tolist() and is_cuda are instructions of the interpreter, not operators. So a call inserted
/// before each tolist() checks its tensor, and another takes the place of is_cuda.
const c10::Symbol kIsCuda = c10::Symbol::fromQualString("elixir::is_cuda");
const c10::Symbol kReadsTensor = c10::Symbol::fromQualString("elixir::reads_tensor");
const torch::jit::RegisterOperators kGuards(
    {torch::jit::Operator(
         "elixir::reads_tensor(Tensor tensor) -> ()",
         [](Stack& stack) {
           const at::Tensor tensor = torch::jit::pop(stack).toTensor();
           Session* session = Session::current();
           if (session != nullptr && tensor.is_meta())
             session->refuse_data_dependent("prim::tolist");
         },
         c10::AliasAnalysisKind::CONSERVATIVE),
     torch::jit::Operator(
         "elixir::is_cuda(Tensor tensor) -> bool",
         [](Stack& stack) {
           const at::Tensor tensor = torch::jit::pop(stack).toTensor();
           const Session* session = Session::current();
           torch::jit::push(
               stack, is_of_step(session, tensor) ? session->device().is_cuda() : tensor.is_cuda());
         },
         c10::AliasAnalysisKind::FROM_SCHEMA)});

void guard_lists_in(torch::jit::Graph& graph) {
  std::vector<torch::jit::Block*> open{graph.block()};
  while (!open.empty()) {
    torch::jit::Block* block = open.back();
    open.pop_back();
    for (torch::jit::Node* node : block->nodes()) {
      for (torch::jit::Block* inner : inner_blocks(*node)) open.push_back(inner);
      if (node->kind() == c10::prim::tolist) {
        node->owningGraph()->create(kReadsTensor, {node->input(0)}, 0)->insertBefore(node);
      } else if (node->kind() == c10::prim::is_cuda) {
        torch::jit::Node* asks = node->owningGraph()->create(kIsCuda, {node->input(0)}, 1);
        asks->insertBefore(node)->output()->setType(c10::BoolType::get());
        node->output()->replaceAllUsesWith(asks->output());
      }
    }
  }
}

}  // namespace

void install_script_operators() {
  static const bool installed = [] {
    replace_makers("aten::tensor");
    replace_makers("aten::as_tensor");
    replace_makers("aten::_list_to_tensor");
    replace_readers("aten::_tensor_to_list");
    for (const char* name : {"aten::floordiv",
                             "aten::remainder",
                             "aten::fmod",
                             "aten::mathremainder",
                             "aten::divmod",
                             "aten::__round_to_zero_floordiv"}) {
      replace_divisions(name);
    }
    replace_device_query("prim::is_cpu", [](c10::Device device) { return device.is_cpu(); });
    replace_device_query("prim::is_meta", [](c10::Device device) { return device.is_meta(); });
    for (const char* name : {"aten::eq", "aten::ne", "prim::type", "prim::index"}) {
      replace_device_use(name);
    }
    // Discards what a model prints, because it is not part of a tool's output.
    torch::jit::setPrintHandler([](const std::string&) {});
    return true;
  }();
  static_cast<void>(installed);
}

void guard_lists(const torch::jit::Module& module) {
  for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
    torch::jit::GraphFunction* graph = torch::jit::tryToGraphFunction(*function);
    if (graph != nullptr) guard_lists_in(*graph->graph());
  }
}

}  // namespace elixir::capture
