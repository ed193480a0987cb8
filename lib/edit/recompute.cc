// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which operators a copy consists of: whatever writes a storage that is made again, in the order of
// forward, and whatever writes those storages among their arguments that are made again themselves.
// Each operator is copied once at most. A copy reads kept storages as they are in backward, so only
// those that nobody overwrites after the original has read them.
#include "edit/recompute.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "program/arguments/arguments.h"
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
using program::Tensors;

bool draws_from_cudnn(const Operator& op) {
  return op.name == "aten::_cudnn_rnn" && program::Arguments(op).number("dropout").value_or(1) > 0;
}

/// What each operator does to storages, and what that allows.
class Repeatability {
 public:
  Repeatability(const Program& program, const Lifetimes& lifetimes)
      : lifetimes_(lifetimes),
        writers_(program.storages.size()),
        last_version_(program.storages.size(), 0) {
    for (const Operator& op : program.operators) {
      if (!lifetimes.executed[op.id]) continue;
      for (const StorageId s : written_by(op)) writers_[s].push_back(op.id);
      program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
        last_version_[tensor.storage] = std::max(last_version_[tensor.storage], tensor.version);
      });
    }
  }

  /// Executed operators that write the storage, in order.
  [[nodiscard]] const std::vector<OperatorId>& writers(StorageId storage) const {
    return writers_[storage];
  }

  /// Storages that the operator makes or writes and returns.
  [[nodiscard]] std::vector<StorageId> written_by(const Operator& op) const {
    std::set<StorageId> written;
    program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
      if (makes(op, tensor.storage) || op.writes) written.insert(tensor.storage);
    });
    return {written.begin(), written.end()};
  }
  [[nodiscard]] bool makes(const Operator& op, StorageId storage) const {
    const program::StorageUse& use = lifetimes_.storages[storage];
    return use.origin == Origin::kProduced && use.producer == op.id;
  }

  /// Why the operator cannot be run again for the storages `again`; empty when it can.
  [[nodiscard]] std::string obstacle(const Operator& op, const std::vector<bool>& again) const {
    if (op.phase == Phase::kBackward) return "backward writes it";
    if (draws_from_cudnn(op)) return "draws its dropout from a state of cuDNN's";
    const std::vector<TensorRef> unreturned = program::unreturned_writes(op);
    if (!unreturned.empty() && !program::updates_statistics(op.name)) {
      return "writes an argument that it does not return";
    }
    for (const StorageId s : written_by(op)) {
      if (!again[s] && !makes(op, s)) return fmt::format("writes storage {}, which is kept", s);
    }
    std::string found;
    program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
      const std::vector<OperatorId>& writers = writers_[tensor.storage];
      const bool own = std::find(writers.begin(), writers.end(), op.id) != writers.end();
      if (own || tensor.version == last_version_[tensor.storage]) return;
      // Copies go without statistics.
      if (std::find(unreturned.begin(), unreturned.end(), tensor) != unreturned.end()) return;
      found = fmt::format("reads storage {}, which is overwritten later", tensor.storage);
    });
    return found;
  }

 private:
  const Lifetimes& lifetimes_;
  std::vector<std::vector<OperatorId>> writers_;  ///< by storage
  std::vector<std::int32_t> last_version_;        ///< by storage
};

/// Puts the edited program together, operator by operator.
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
  /// At the end of the new program; op.id is still that of the old one.
  void add(Operator op) {
    const OperatorId old = op.id;
    op.id = static_cast<OperatorId>(result_.operators.size());
    if (op.repeats < 0) id_[old] = op.id;
    result_.operators.push_back(std::move(op));
  }

  /// Operators that have to run so that `storage` is there again, as long as they have not run
  /// again yet.
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
      // Running statistics were updated by the original.
      for (const TensorRef& statistics : program::unreturned_writes(copy)) {
        std::replace(copy.arguments.begin(),
                     copy.arguments.end(),
                     Argument(statistics),
                     Argument(program::None{}));
      }
      // What it makes is new, whether anybody wants it or not.
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
    for (std::vector<Argument>* list : {&op.arguments, &op.outputs}) {
      for (Argument& argument : *list) {
        if (auto* tensor = std::get_if<TensorRef>(&argument)) {
          rename(*tensor);
        } else if (auto* tensors = std::get_if<Tensors>(&argument)) {
          for (auto& element : *tensors) {
            if (element) rename(*element);
          }
        }
      }
    }
  }

  const Program& program_;
  const Repeatability& repeatability_;
  const std::vector<bool>& again_;
  std::vector<StorageId> copy_;  ///< by storage: the one that stands for it in backward; -1: itself
  std::vector<OperatorId> id_;   ///< by operator: its number in the new program
  std::vector<bool> copied_;     ///< by operator
  Program result_;
};

}  // namespace

Recomputed recompute(const Program& program, const std::vector<StorageId>& storages) {
  const Lifetimes lifetimes = program::analyse_lifetimes(program);
  const Repeatability repeatability(program, lifetimes);
  std::vector<bool> again(program.storages.size(), false);
  for (const StorageId s : storages) {
    require(s >= 0 && s < static_cast<StorageId>(again.size()) &&
                lifetimes.storages[s].origin == Origin::kProduced &&
                lifetimes.storages[s].producer >= 0 &&
                program.operators[lifetimes.storages[s].producer].phase == Phase::kForward,
            fmt::format("storage {} is no activation", s));
    again[s] = true;
  }
  Recomputed result;
  // One that stays kept may keep others: an operator that writes both cannot run again.
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
