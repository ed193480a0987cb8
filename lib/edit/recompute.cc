// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Chooses the operators of a copy: every operator that writes a recomputed storage, in the order of
// forward, and every operator that writes recomputed storages among their arguments. Each operator
// is copied at most once. A copy reads kept storages in their state in backward, so it may only
// read those that no operator overwrites after the original has read them.
#include "edit/recompute.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "edit/repeatability.h"
#include "program/arguments/writes.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Argument;
using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Origin;
using program::Phase;
using program::Program;
using program::Storage;
using program::StorageId;
using program::TensorRef;

/// Builds the edited program, operator by operator.
class Rewriter {
 public:
  Rewriter(const Program& program,
           const Repeatability& repeatability,
           const std::vector<bool>& again)
      : program_(program),
        repeatability_(repeatability),
        again_(again),
        copy_(program.storages.size(), -1),
        id_(program.operators.size(), -1),
        copied_(program.operators.size(), false),
        result_(program) {
    result_.operators.clear();
  }

  Program run() {
    for (const Operator& op : program_.operators) {
      if (op.phase == Phase::kForward) {
        add(op);
        continue;
      }
      const auto remake = [&](const TensorRef& tensor) {
        if (again_[tensor.storage]) make_again(tensor.storage);
      };
      program::for_each_tensor(op.arguments, remake);
      program::for_each_tensor(op.outputs, remake);
      Operator edited = op;
      rename(edited);
      add(std::move(edited));
    }
    return program::with_replay_lifetimes(std::move(result_));
  }

 private:
  /// Appends an operator to the new program. op.id is still its id in the old program.
  void add(Operator op) {
    const OperatorId old = op.id;
    op.id = static_cast<OperatorId>(result_.operators.size());
    if (op.repeats < 0) id_[old] = op.id;
    result_.operators.push_back(std::move(op));
  }

  /// The operators that must run to recompute `storage`, without those that already ran again.
  void collect(StorageId storage, std::set<OperatorId>& operators) const {
    for (const OperatorId id : repeatability_.writers(storage)) {
      if (copied_[id] || !operators.insert(id).second) continue;
      const Operator& op = program_.operators[id];
      const auto follow = [&](const TensorRef& tensor) {
        if (again_[tensor.storage]) collect(tensor.storage, operators);
      };
      program::for_each_tensor(op.arguments, follow);
      program::for_each_tensor(op.outputs, follow);
    }
  }

  void make_again(StorageId storage) {
    if (copy_[storage] >= 0) return;
    std::set<OperatorId> operators;
    collect(storage, operators);
    for (const OperatorId id : operators) {
      Operator copy = program_.operators[id];
      copied_[id] = true;
      copy.phase = Phase::kBackward;
      copy.repeats = id_[id];
      // The original has already updated the running statistics.
      for (const TensorRef& statistics : program::unreturned_writes(copy)) {
        std::replace(copy.arguments.begin(),
                     copy.arguments.end(),
                     Argument(statistics),
                     Argument(program::None{}));
      }
      // All its results are new storages, even those that nothing needs.
      std::vector<std::pair<StorageId, StorageId>> unwanted;
      for (const StorageId s : repeatability_.written_by(copy)) {
        if (copy_[s] >= 0) continue;
        copy_[s] = add_storage(s);
        if (!again_[s]) unwanted.emplace_back(s, copy_[s]);
      }
      rename(copy);
      for (const auto& [s, made] : unwanted) copy_[s] = -1;
      add(std::move(copy));
    }
  }

  StorageId add_storage(StorageId of) {
    Storage storage = program_.storages[of];
    storage.id = static_cast<StorageId>(result_.storages.size());
    result_.storages.push_back(std::move(storage));
    return result_.storages.back().id;
  }

  void rename(TensorRef& tensor) const {
    if (copy_[tensor.storage] >= 0) tensor.storage = copy_[tensor.storage];
  }
  void rename(Operator& op) const {
    const auto visit = [this](TensorRef& tensor) { rename(tensor); };
    program::for_each_tensor(op.arguments, visit);
    program::for_each_tensor(op.outputs, visit);
  }

  const Program& program_;
  const Repeatability& repeatability_;
  const std::vector<bool>& again_;
  std::vector<StorageId> copy_;  ///< by storage: the one that replaces it in backward; -1: none
  std::vector<OperatorId> id_;   ///< by operator: its id in the new program
  std::vector<bool> copied_;     ///< by operator
  Program result_;
};

}  // namespace

std::optional<StorageId> not_made_by_forward(const Program& program,
                                             const std::vector<StorageId>& storages) {
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  const auto made = [&](StorageId s) {
    if (s < 0 || s >= static_cast<StorageId>(program.storages.size())) return false;
    const program::StorageUse& use = lifetimes.storages[s];
    return use.origin == Origin::kProduced && use.producer >= 0 &&
           program.operators[use.producer].phase == Phase::kForward;
  };
  const auto found = std::find_if_not(storages.begin(), storages.end(), made);
  return found == storages.end() ? std::nullopt : std::optional(*found);
}

Recomputed recompute(const Program& program, const std::vector<StorageId>& storages) {
  if (const auto other = not_made_by_forward(program, storages)) {
    throw Error(ErrorCode::kInternal, "storage {} is not made in forward", *other);
  }
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  const Repeatability repeatability(program, lifetimes);
  std::vector<bool> again(program.storages.size(), false);
  for (const StorageId s : storages) again[s] = true;
  Recomputed result;
  // A storage that stays kept may force others to stay kept: an operator that writes both cannot
  // run again.
  for (bool changed = true; changed;) {
    changed = false;
    for (const StorageId s : storages) {
      if (!again[s]) continue;
      for (const OperatorId id : repeatability.writers(s)) {
        std::string reason = repeatability.obstacle(program.operators[id], again);
        if (reason.empty()) continue;
        again[s] = false;
        changed = true;
        result.kept.push_back({.storage = s, .op = id, .reason = std::move(reason)});
        break;
      }
    }
  }
  result.program = Rewriter(program, repeatability, again).run();
  return result;
}

}  // namespace elixir::edit
