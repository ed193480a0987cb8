// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/kept_state.h"

#include <set>
#include <string>
#include <utility>

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include "core/error.h"

namespace elixir::capture {
namespace {

/// The modules of one class share their code, so an attribute is known by class and name.
using Attribute = std::pair<const c10::Type*, std::string>;

Attribute attribute_of(const torch::jit::Node& node) {
  return {node.input(0)->type().get(), node.s(c10::attr::name)};
}

class Walk {
 public:
  void over(const torch::jit::Block& block) {
    for (const torch::jit::Node* node : block.nodes()) {
      if (node->kind() == c10::prim::GetAttr) {
        const Attribute attribute = attribute_of(*node);
        if (assigned_.count(attribute) == 0) read_before_.insert(attribute);
      }
      if (node->kind() == c10::prim::SetAttr) {
        const Attribute attribute = attribute_of(*node);
        // Batch norm counts batches like this in files of older PyTorch. Nothing else reads the
        // count, unless momentum is None.
        const bool counts = attribute.second == "num_batches_tracked";
        if (!counts && read_before_.count(attribute) > 0) refuse(attribute.second);
        assigned_.insert(attribute);
      }
      if (node->kind() == c10::prim::CallMethod) enter(*node);
      for (const torch::jit::Block* inner : node->blocks()) over(*inner);
    }
  }

 private:
  /// Not by inlining, which would keep copies of the graphs from before they are edited.
  void enter(const torch::jit::Node& call) {
    const auto type = call.input(0)->type()->cast<c10::ClassType>();
    if (type == nullptr) return;
    torch::jit::Function* callee = type->findMethod(call.s(c10::attr::name));
    if (callee == nullptr || !callee->isGraphFunction()) return;
    over(*torch::jit::toGraphFunction(*callee).graph()->block());
  }
  [[noreturn]] static void refuse(const std::string& name) {
    throw Error(ErrorCode::kUnsupportedModel,
                "forward assigns `{}`, which it has read: the next step would need the new value",
                name)
        .help("keep it in a buffer and change that in place, as in self.n.add_(1)");
  }

  std::set<Attribute> read_before_, assigned_;
};

}  // namespace

void refuse_assigned_state(const torch::jit::Module& module) {
  const auto method = module.find_method("forward");
  if (!method) return;
  Walk().over(*method->graph()->block());
}

}  // namespace elixir::capture
