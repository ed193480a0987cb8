// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "errors/eager_module.h"

#include <stdexcept>

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

namespace elixir::errors {
namespace {

namespace jit = torch::jit;

bool is_narrow(std::int64_t dtype) {
  const auto type = static_cast<c10::ScalarType>(dtype);
  return type == c10::kFloat || type == c10::kBFloat16 || type == c10::kHalf;
}

/// The floating dtypes that `node` is given as an argument become fp64.
void widen_arguments(jit::Node* node) {
  const c10::FunctionSchema* schema = node->maybeSchema();
  if (schema == nullptr) return;
  for (std::size_t i = 0; i < node->inputs().size() && i < schema->arguments().size(); ++i) {
    if (schema->arguments()[i].name() != "dtype") continue;
    const auto dtype = jit::toIValue(node->input(i));
    if (!dtype || !dtype->isInt() || !is_narrow(dtype->toInt())) continue;
    // A constant of its own: the old one may be a number elsewhere.
    const jit::WithInsertPoint here(node);
    node->replaceInput(
        i, node->owningGraph()->insertConstant(static_cast<std::int64_t>(c10::kDouble)));
  }
}

/// Constants name the device and the dtypes that were traced.
void rewrite(jit::Block* block, Dtypes dtypes, c10::Device device) {
  for (jit::Node* node : block->nodes()) {
    for (jit::Block* inner : node->blocks()) rewrite(inner, dtypes, device);
    if (node->kind() == c10::prim::Constant && node->hasAttribute(c10::attr::value)) {
      const auto kind = node->output()->type()->kind();
      if (kind == c10::TypeKind::DeviceObjType) node->s_(c10::attr::value, device.str());
      if (kind == c10::TypeKind::TensorType) {
        at::Tensor tensor = node->t(c10::attr::value);
        if (tensor.dim() > 0) tensor = tensor.to(device);
        const bool widens = dtypes == Dtypes::kFloat64 && tensor.is_floating_point();
        node->t_(c10::attr::value, widens ? tensor.to(c10::kDouble) : tensor);
      }
    }
    if (dtypes == Dtypes::kFloat64) widen_arguments(node);
  }
}

jit::Module load(const std::string& path) {
  jit::getProfilingMode() = false;
  jit::setGraphExecutorOptimize(false);
  return jit::load(path, c10::kCPU);
}

at::Tensor loss_of(const c10::IValue& result) {
  if (result.isTensor()) return result.toTensor();
  if (result.isTuple()) return result.toTuple()->elements().at(0).toTensor();
  throw std::runtime_error("forward returns neither a loss nor a tuple that begins with one");
}

}  // namespace

EagerModule::EagerModule(const std::string& path, Dtypes dtypes, c10::Device device)
    : dtypes_(dtypes), module_(load(path)) {
  for (const jit::Module& part : module_.modules()) {
    for (const jit::Method& method : part.get_methods()) {
      rewrite(method.graph()->block(), dtypes, device);
    }
  }
  for (const auto& named : module_.named_parameters()) tensors_[named.name] = named.value;
  for (const auto& named : module_.named_buffers()) tensors_[named.name] = named.value;
  for (auto& [name, tensor] : tensors_) {
    const bool widens = dtypes == Dtypes::kFloat64 && tensor.is_floating_point();
    // In place, so that parameters with several names stay one.
    tensor.set_data(tensor.detach().to(device, widens ? c10::kDouble : tensor.scalar_type()));
  }
}

Gradients EagerModule::run(const std::vector<at::Tensor>& inputs) {
  std::vector<c10::IValue> arguments;
  for (const at::Tensor& input : inputs) {
    const bool widens = dtypes_ == Dtypes::kFloat64 && input.is_floating_point();
    arguments.emplace_back(widens ? input.to(c10::kDouble) : input);
  }
  Gradients result;
  const at::Tensor loss = loss_of(module_.forward(arguments));
  torch::autograd::backward({loss}, {});
  result.loss = loss.detach();
  for (const auto& [name, tensor] : tensors_) {
    if (tensor.grad().defined()) result.by_name[name] = tensor.grad();
  }
  for (const auto& [name, tensor] : tensors_) tensor.mutable_grad().reset();
  return result;
}

}  // namespace elixir::errors
