// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "capture/record/graph/kept_state.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include "core/error.h"

namespace elixir::capture {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

/// An attribute of one object; of a class, where code does not say which object it has.
using Attribute = std::pair<const void*, std::string>;

std::string assigns(const std::string& name) {
  return "assigns `" + name + "`";
}

Error keeps(const std::string& what) {
  return Error(ErrorCode::kUnsupportedModel,
               "forward {}: the next step would need the new value",
               what)
      .help("keep it in a buffer and change that in place, as in self.n.add_(1)");
}

/// Calls that change a list or a dictionary in place.
bool changes_container(const Node& node) {
  static const std::set<std::string_view> kNames{"aten::Delete",
                                                 "aten::_set_item",
                                                 "aten::add_",
                                                 "aten::append",
                                                 "aten::clear",
                                                 "aten::extend",
                                                 "aten::insert",
                                                 "aten::mul_",
                                                 "aten::pop",
                                                 "aten::popitem",
                                                 "aten::remove",
                                                 "aten::reverse",
                                                 "aten::setdefault",
                                                 "aten::sort",
                                                 "aten::update"};
  if (node.inputs().empty() || kNames.count(node.kind().toQualString()) == 0) return false;
  const c10::TypeKind kind = node.input(0)->type()->kind();
  return kind == c10::TypeKind::ListType || kind == c10::TypeKind::DictType;
}

class Walk {
 public:
  void over(const Block& block, const c10::IValue& self) {
    objects_[block.inputs().at(0)] = self;
    over(block);
    for (const Attribute& counter : counters_) {
      if (reads_[counter] > 1) throw keeps(assigns(counter.second) + ", and uses it");
    }
  }

 private:
  void over(const Block& block) {
    for (const Node* node : block.nodes()) {
      if (node->kind() == c10::prim::GetAttr) read(*node);
      if (node->kind() == c10::prim::SetAttr) assign(*node);
      if (node->kind() == c10::prim::CallMethod) enter(*node);
      if (changes_container(*node)) change(*node);
      over_inner(*node);
    }
  }

  /// What is assigned in every branch is assigned; a loop may run no time at all.
  void over_inner(const Node& node) {
    if (node.blocks().empty()) return;
    const std::set<Attribute> before = assigned_;
    std::set<Attribute> in_all;
    for (std::size_t i = 0; i < node.blocks().size(); ++i) {
      assigned_ = before;
      over(*node.blocks()[i]);
      if (i == 0) in_all = assigned_;
      std::set<Attribute> both;
      std::set_intersection(in_all.begin(),
                            in_all.end(),
                            assigned_.begin(),
                            assigned_.end(),
                            std::inserter(both, both.end()));
      in_all = std::move(both);
    }
    assigned_ = node.kind() == c10::prim::If ? std::move(in_all) : before;
  }

  [[nodiscard]] const c10::IValue* object_of(const Value* value) const {
    const auto found = objects_.find(value);
    return found != objects_.end() && found->second.isObject() ? &found->second : nullptr;
  }

  /// An object that forward makes is gone after the step: that of torch.no_grad(), for instance.
  [[nodiscard]] bool is_made_here(const Value* owner) const {
    const auto type = owner->type()->cast<c10::ClassType>();
    return object_of(owner) == nullptr && type != nullptr && !type->is_module();
  }

  [[nodiscard]] Attribute attribute_of(const Node& node) const {
    const Value* owner = node.input(0);
    const c10::IValue* object = object_of(owner);
    const void* which = object != nullptr ? static_cast<const void*>(object->toObject().get())
                                          : static_cast<const void*>(owner->type().get());
    return {which, node.s(c10::attr::name)};
  }

  void read(const Node& node) {
    if (is_made_here(node.input(0))) return;
    const Attribute attribute = attribute_of(node);
    ++reads_[attribute];
    if (assigned_.count(attribute) == 0) read_before_.insert(attribute);
    const c10::IValue* owner = object_of(node.input(0));
    if (owner != nullptr && owner->toObject()->type()->hasAttribute(attribute.second)) {
      objects_[node.output()] = owner->toObject()->getAttr(attribute.second);
    }
  }

  void assign(const Node& node) {
    if (is_made_here(node.input(0))) return;
    const Attribute attribute = attribute_of(node);
    if (counts(node)) {
      counters_.insert(attribute);
      return;
    }
    if (read_before_.count(attribute) > 0)
      throw keeps(assigns(attribute.second) + ", which it has read");
    const auto type = node.input(0)->type()->cast<c10::ClassType>();
    const auto slot = type != nullptr && type->is_module()
                          ? type->findAttributeSlot(attribute.second)
                          : std::nullopt;
    if (slot && (type->is_buffer(*slot) || type->is_parameter(*slot))) {
      throw keeps(assigns(attribute.second) + ", which a state_dict has");
    }
    assigned_.insert(attribute);
  }

  /// Whether it is batch norm's count of batches, as files of older PyTorch have it. Nothing else
  /// reads the count, unless momentum is None.
  [[nodiscard]] static bool counts(const Node& node) {
    if (node.s(c10::attr::name) != "num_batches_tracked") return false;
    const Node* made_by = node.input(1)->node();
    return std::string_view(made_by->kind().toQualString()) == "aten::add" &&
           made_by->input(0)->node()->kind() == c10::prim::GetAttr;
  }

  void change(const Node& node) const {
    const Node* made_by = node.input(0)->node();
    if (made_by->kind() != c10::prim::GetAttr || is_made_here(made_by->input(0))) return;
    const Attribute attribute = attribute_of(*made_by);
    if (assigned_.count(attribute) == 0)
      throw keeps("changes the list or dict `" + attribute.second + "`");
  }

  /// Not by inlining, which would keep copies of the graphs from before they are edited.
  void enter(const Node& call) {
    const c10::IValue* object = object_of(call.input(0));
    const auto type = object != nullptr ? object->toObject()->type()
                                        : call.input(0)->type()->cast<c10::ClassType>();
    if (type == nullptr) return;
    torch::jit::Function* callee = type->findMethod(call.s(c10::attr::name));
    if (callee == nullptr || !callee->isGraphFunction()) return;
    const Block& block = *torch::jit::toGraphFunction(*callee).graph()->block();
    for (std::size_t i = 0; i < block.inputs().size() && i < call.inputs().size(); ++i) {
      const c10::IValue* given = object_of(call.input(i));
      objects_[block.inputs()[i]] = given != nullptr ? *given : c10::IValue();
    }
    over(block);
  }

  std::map<const Value*, c10::IValue> objects_;  ///< what a value is, where that is an object
  std::map<Attribute, int> reads_;
  std::set<Attribute> read_before_, assigned_, counters_;
};

}  // namespace

void refuse_assigned_state(const torch::jit::Module& module) {
  const auto method = module.find_method("forward");
  if (!method) return;
  Walk().over(*method->graph()->block(), module._ivalue());
}

}  // namespace elixir::capture
