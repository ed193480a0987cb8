// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/graph_edit.h"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>

#include <c10/core/DeviceType.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include "capture/record/graph/inner_blocks.h"
#include "core/error.h"

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

/// The argument `name` of the call that made `object`, where that is a constant.
std::optional<c10::IValue> made_with(const torch::jit::Value& object, const std::string& name) {
  const auto type = object.type()->cast<c10::ClassType>();
  const torch::jit::Function* init = type->findMethod("__init__");
  if (init == nullptr) return std::nullopt;
  const std::optional<int> position = init->getSchema().argumentIndexWithName(name);
  for (const torch::jit::Use& use : object.uses()) {
    const bool makes = use.user->kind() == c10::prim::CallMethod && use.offset == 0 &&
                       use.user->s(c10::attr::name) == "__init__";
    if (!makes || !position) continue;
    return torch::jit::toIValue(use.user->input(static_cast<std::size_t>(*position)));
  }
  return std::nullopt;
}

/// "cuda" or "cpu"; "" where it is not known. torch.amp.autocast is told, the older
/// torch.cuda.amp.autocast has it in its name.
std::string autocast_device(const torch::jit::Value& region) {
  const auto given = made_with(region, "device_type");
  if (given && given->isString()) return given->toStringRef();
  const std::string name = region.type()->expect<c10::ClassType>()->name()->qualifiedName();
  for (const char* device : {"cuda", "cpu"}) {
    if (name.find(std::string(".") + device + ".") != std::string::npos) return device;
  }
  return "";
}

/// Line and file of the model's source, where the archive has them.
std::string source_of(const torch::jit::Node& node) {
  const torch::jit::SourceRange range = node.sourceRange();
  const auto original = range.findSourceRangeThatGenerated();
  const auto place = original ? original->file_line_col() : range.file_line_col();
  if (!place) return "";
  return fmt::format(" (line {} of {})", std::get<1>(*place), std::get<0>(*place));
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

void refuse_autocast(const torch::jit::Module& module, c10::Device device) {
  for_each_node(module, [&](const torch::jit::Node& node) {
    if (node.kind() != c10::prim::Enter) return;
    const torch::jit::Value& region = *node.input(0);
    const auto type = region.type()->cast<c10::ClassType>();
    if (!type || !type->name() || type->name()->name() != "autocast") return;
    const auto enabled = made_with(region, "enabled");
    if (enabled && enabled->isBool() && !enabled->toBool()) return;
    const std::string on = autocast_device(region);
    if (!on.empty() && on != c10::DeviceTypeName(device.type(), /*lower_case=*/true)) return;
    throw Error(ErrorCode::kUnsupportedModel,
                "the model uses torch.autocast{}, which capture does not carry out",
                source_of(*region.node()))
        .help(
            "trace the model under autocast: torch.jit.trace writes its casts into the graph, as "
            "torch.jit.script does not")
        .help("or write the casts yourself, as in x.to(torch.bfloat16)")
        .help("or leave it out, and give all parameters one dtype with --precision bf16");
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
