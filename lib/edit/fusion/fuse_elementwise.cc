// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/fusion/fuse_elementwise.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "edit/fusion/fusion_groups.h"
#include "program/lifetimes.h"
#include "program/references.h"

namespace elixir::edit {
namespace {

using program::Bools;
using program::None;
using program::Operator;
using program::OperatorId;
using program::Program;
using program::StorageId;
using program::TensorRef;

constexpr std::size_t kWhichGradients = 7;  // argument of a layer norm's backward

bool splits(const Operator& op) {
  if (op.name != "aten::native_layer_norm_backward" || op.outputs.size() != 3 || op.repeats >= 0) {
    return false;
  }
  const auto* which = op.arguments.size() > kWhichGradients
                          ? std::get_if<Bools>(&op.arguments[kWhichGradients])
                          : nullptr;
  return which != nullptr && which->size() == 3 && (*which)[0] && ((*which)[1] || (*which)[2]);
}

/// A layer norm's gradient of its input is made row by row, those of weight and bias column by
/// column. Here they are two operators, in this order, so that the first can be fused.
struct Split {
  Program program;
  std::vector<OperatorId> of;  ///< by operator: the one it is a part of, or is
};

Split split_layer_norms(const Program& program) {
  Split split{program, {}};
  split.program.operators.clear();
  std::vector<OperatorId> renamed;
  const auto add = [&](Operator op, OperatorId of) {
    op.id = static_cast<OperatorId>(split.program.operators.size());
    if (op.repeats >= 0) op.repeats = renamed[op.repeats];
    split.of.push_back(of);
    split.program.operators.push_back(std::move(op));
  };
  for (const Operator& op : program.operators) {
    renamed.push_back(static_cast<OperatorId>(split.program.operators.size()));
    if (!splits(op)) {
      add(op, op.id);
      continue;
    }
    const Bools& which = std::get<Bools>(op.arguments[kWhichGradients]);
    Operator input = op, others = op;
    input.arguments[kWhichGradients] = Bools{true, false, false};
    input.outputs[1] = input.outputs[2] = None{};
    others.arguments[kWhichGradients] = Bools{false, which[1], which[2]};
    others.outputs[0] = None{};
    add(std::move(input), op.id);
    add(std::move(others), op.id);
  }
  return split;
}

class GroupRewriter {
 public:
  GroupRewriter(const Program& program, const Split& split, const std::vector<FusionGroup>& groups)
      : program_(program),
        split_(split),
        group_(split.program.operators.size(), nullptr),
        changed_(program.storages.size(), false),
        first_version_(program.storages.size(), 0),
        executed_(program::analyse_lifetimes(split.program).executed),
        result_(program) {
    result_.operators.clear();
    for (const FusionGroup& group : groups) {
      for (const OperatorId id : group.members) group_[id] = &group;
      note(group);
    }
  }

  Program run() {
    std::vector<OperatorId> renamed(program_.operators.size(), -1);
    const auto add = [&](Operator op, OperatorId of) {
      op.id = static_cast<OperatorId>(result_.operators.size());
      if (op.repeats >= 0) op.repeats = renamed[op.repeats];
      renamed[of] = op.id;
      result_.operators.push_back(std::move(op));
    };
    for (const Operator& op : split_.program.operators) {
      const OperatorId of = split_.of[op.id];
      if (const FusionGroup* group = group_[op.id]) {
        if (group->place == op.id) add(group->fused, of);
        continue;
      }
      if (makes_views_of_changed(op)) continue;
      if (!is_whole(op.id)) {
        const Operator& whole = program_.operators[of];
        const bool is_first = op.id == 0 || split_.of[op.id - 1] != of;
        const OperatorId input = is_first ? op.id : op.id - 1;
        // If the first part is in no group, both are one again.
        if (group_[input] == nullptr) {
          if (is_first) add(whole, of);
          continue;
        }
      }
      Operator copy = op;
      copy.repeats = program_.operators[of].repeats;
      add(std::move(copy), of);
    }
    program::for_each_reference(
        result_, [&](TensorRef& tensor) { tensor.version -= first_version_[tensor.storage]; });
    return program::with_replay_lifetimes(std::move(result_));
  }

 private:
  void note(const FusionGroup& group) {
    for (const StorageId s : group.gone) {
      changed_[s] = true;
      result_.storages[s].bytes = 0;
    }
    std::vector<bool> is_input(program_.storages.size(), false);
    program::for_each_tensor(group.fused.arguments,
                             [&](const TensorRef& tensor) { is_input[tensor.storage] = true; });
    program::for_each_tensor(group.fused.outputs, [&](const TensorRef& tensor) {
      changed_[tensor.storage] = true;
      // A storage begins with version 0.
      if (!is_input[tensor.storage]) first_version_[tensor.storage] = tensor.version;
    });
  }

  [[nodiscard]] bool is_whole(OperatorId id) const {
    const OperatorId of = split_.of[id];
    const bool has_before = id > 0 && split_.of[id - 1] == of;
    const bool has_after =
        static_cast<std::size_t>(id) + 1 < split_.of.size() && split_.of[id + 1] == of;
    return !has_before && !has_after;
  }

  /// Each reader says itself what view it means.
  [[nodiscard]] bool makes_views_of_changed(const Operator& op) const {
    if (executed_[op.id]) return false;
    bool found = false;
    const auto look = [&](const TensorRef& tensor) { found = found || changed_[tensor.storage]; };
    program::for_each_tensor(op.arguments, look);
    program::for_each_tensor(op.outputs, look);
    return found;
  }

  const Program& program_;
  const Split& split_;
  std::vector<const FusionGroup*> group_;    ///< by operator of the split program
  std::vector<bool> changed_;                ///< by storage: made or written by a group, or gone
  std::vector<std::int32_t> first_version_;  ///< by storage: the version in which a group makes it
  std::vector<bool> executed_;               ///< by operator of the split program
  Program result_;
};

}  // namespace

FusedElementwise fuse_elementwise(const Program& program) {
  const Split split = split_layer_norms(program);
  const std::vector<FusionGroup> groups = fusion_groups(split.program);
  FusedElementwise result;
  if (groups.empty()) {
    result.program = program;
    return result;
  }
  result.groups = static_cast<int>(groups.size());
  for (const FusionGroup& group : groups) {
    result.members += static_cast<int>(group.members.size());
  }
  result.program = GroupRewriter(program, split, groups).run();
  return result;
}

}  // namespace elixir::edit
