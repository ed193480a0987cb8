// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/graph_edit.h"

#include <memory>
#include <optional>
#include <unordered_set>

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include "capture/record/graph/inner_blocks.h"

namespace elixir::capture {
namespace {

template <class Visit>
void for_each_node(torch::jit::Block& block, const Visit& visit) {
  const std::vector<torch::jit::Node*> nodes(block.nodes().begin(), block.nodes().end());
  for (torch::jit::Node* node : nodes) {
    for (torch::jit::Block* inner : inner_blocks(*node)) for_each_node(*inner, visit);
    visit(*node);
  }
}

/// Calls `visit(Node&)` for every node of every graph. Each graph is visited once.
template <class Visit>
void for_each_node(const torch::jit::Module& module, const Visit& visit) {
  std::unordered_set<const torch::jit::Graph*> done;
  for (const torch::jit::Module& part : module.modules()) {
    for (const torch::jit::Method& method : part.get_methods()) {
      const std::shared_ptr<torch::jit::Graph> graph = method.graph();
      if (done.insert(graph.get()).second) for_each_node(*graph->block(), visit);
    }
  }
  // Functions that are no methods.
  for (torch::jit::Function* function : module._ivalue()->compilation_unit()->get_functions()) {
    const torch::jit::GraphFunction* known = torch::jit::tryToGraphFunction(*function);
    if (known == nullptr) continue;
    const std::shared_ptr<torch::jit::Graph> graph = known->graph();
    if (done.insert(graph.get()).second) for_each_node(*graph->block(), visit);
  }
}

bool is_device_constant(const torch::jit::Node& node) {
  return node.kind() == c10::prim::Constant && node.hasAttribute(c10::attr::value) &&
         node.output()->type()->kind() == c10::TypeKind::DeviceObjType;
}

/// The position of the training flag in a call that tracing fixes, by schema name.
std::optional<std::size_t> training_input(const torch::jit::Node& node) {
  const std::string name = node.kind().toQualString();
  if (name == "aten::dropout" || name == "aten::dropout_" || name == "aten::feature_dropout" ||
      name == "aten::alpha_dropout") {
    return 2;
  }
  if (name == "aten::batch_norm" || name == "aten::instance_norm") return 5;
  return std::nullopt;
}

constexpr std::size_t kAttentionDropout = 4;
bool is_attention(const torch::jit::Node& node) {
  return std::string(node.kind().toQualString()) == "aten::scaled_dot_product_attention";
}

/// Whether the call is batch norm's counter of training batches, which tracing writes into the
/// graph.
bool counts_batches(const torch::jit::Node& node) {
  if (std::string(node.kind().toQualString()) != "aten::add_") return false;
  const torch::jit::Node* source = node.input(0)->node();
  return source->kind() == c10::prim::GetAttr &&
         source->s(c10::attr::name) == "num_batches_tracked";
}

void set_constant_input(torch::jit::Node& node, std::size_t input, const c10::IValue& value) {
  const torch::jit::WithInsertPoint before(&node);
  node.replaceInput(input, node.owningGraph()->insertConstant(value));
}

}  // namespace

void set_devices(const torch::jit::Module& module, c10::Device device) {
  // A file traced on an accelerator (or on meta) may also name the CPU deliberately. A file traced
  // on the CPU names the CPU where it means the tracing device.
  bool other_than_cpu = false;
  for_each_node(module, [&](torch::jit::Node& node) {
    if (is_device_constant(node)) other_than_cpu |= node.s(c10::attr::value) != "cpu";
  });
  for_each_node(module, [&](torch::jit::Node& node) {
    if (!is_device_constant(node)) return;
    if (other_than_cpu && node.s(c10::attr::value) == "cpu") return;
    node.s_(c10::attr::value, device.str());
  });
}

std::vector<std::string> set_training_mode(torch::jit::Module& module, TrainingMode mode) {
  const bool training = mode == TrainingMode::kTrain;
  module.train(training);
  bool attention_without_dropout = false;
  for_each_node(module, [&](torch::jit::Node& node) {
    if (const auto input = training_input(node)) {
      const auto value = torch::jit::toIValue(node.input(*input));
      if (value && value->isBool() && value->toBool() != training) {
        set_constant_input(node, *input, training);
      }
    } else if (is_attention(node)) {
      const auto value = torch::jit::toIValue(node.input(kAttentionDropout));
      if (!value || !value->isDouble()) return;
      if (!training && value->toDouble() != 0) set_constant_input(node, kAttentionDropout, 0.0);
      if (training && value->toDouble() == 0) attention_without_dropout = true;
    } else if (!training && counts_batches(node)) {
      // Evaluation must not count as a training batch.
      node.output()->replaceAllUsesWith(node.input(0));
      node.destroy();
    }
  });
  if (!attention_without_dropout) return {};
  return {"attention was traced without dropout; its training dropout, if any, is not in the file"};
}

FixedCalls calls_with_fixed_mode(const torch::jit::Module& module) {
  FixedCalls calls;
  for_each_node(module, [&](torch::jit::Node& node) {
    const auto input = training_input(node);
    if (!input) return;
    const auto value = torch::jit::toIValue(node.input(*input));
    if (!value || !value->isBool()) return;
    ++calls.all;
    if (!value->toBool()) ++calls.evaluating;
  });
  return calls;
}

}  // namespace elixir::capture
