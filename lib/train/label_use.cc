// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "train/label_use.h"

#include <map>
#include <string>
#include <string_view>

#include "program/arguments.h"
#include "train/element_flow.h"

namespace elixir::train {
namespace {

/// How an input's elements are read by the calls that matter here.
struct Uses {
  bool target = false;     ///< of a cross-entropy
  bool shifted = false;    ///< as a target, from another than the first element on
  bool looked_up = false;  ///< in an embedding
  bool looked_up_whole = false;
};

Uses uses_of(const program::Program& program, const program::TensorRef& input) {
  Uses uses;
  // Storages that hold the input's elements, and whether the first ones were left out on the way.
  std::map<program::StorageId, bool> holders{{input.storage, false}};
  const auto is_cut = [&](const program::TensorRef& tensor) {
    return holders.at(tensor.storage) || tensor.offset != 0;
  };
  const auto holds = [&](const program::TensorRef* tensor) {
    return tensor != nullptr && holders.count(tensor->storage) != 0;
  };
  for (const program::Operator& op : program.operators) {
    if (op.phase != program::Phase::kForward) break;
    const program::Arguments call(op);
    if (op.name == "aten::embedding") {
      const program::TensorRef* indices = call.tensor("indices");
      if (!holds(indices)) continue;
      uses.looked_up = true;
      if (!is_cut(*indices) && indices->numel() == input.numel()) uses.looked_up_whole = true;
    } else if (is_class_loss(op)) {
      const program::TensorRef* target = call.tensor("target");
      if (!holds(target)) continue;
      uses.target = true;
      if (is_cut(*target)) uses.shifted = true;
    } else if (copies_elements(op.name)) {
      const program::TensorRef* source = first_tensor(op);
      if (!holds(source)) continue;
      const bool cut = is_cut(*source);
      program::for_each_tensor(op.outputs, [&](const program::TensorRef& output) {
        holders.emplace(output.storage, cut);
      });
    } else if (op.name == "aten::copy_") {
      const program::TensorRef* source = call.tensor("src");
      const program::TensorRef* written = call.tensor("self");
      if (!holds(source) || written == nullptr) continue;
      // Written behind the first place: as good as left out at the front.
      holders.emplace(written->storage, is_cut(*source) || written->offset != 0);
    }
  }
  return uses;
}

bool is_called_label(const std::string& name) {
  for (const std::string_view end : {"labels", "label", "targets", "target"}) {
    if (name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

LabelUse label_use(const program::Program& program) {
  LabelUse use;
  bool whole_target = false;
  bool whole_lookup = false;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Uses uses = uses_of(program, program.inputs[i].tensor);
    const bool named = is_called_label(program.inputs[i].name);
    if (named || (uses.target && !uses.looked_up)) use.labels.push_back(i);
    if (uses.target) use.has_class_loss = true;
    if (uses.shifted) use.model_shifts = true;
    if (uses.target && !uses.shifted) whole_target = true;
    if (uses.looked_up_whole && !named) whole_lookup = true;
  }
  use.unshifted = whole_target && whole_lookup && !use.model_shifts;
  return use;
}

}  // namespace elixir::train
