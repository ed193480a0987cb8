// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/repeatability.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "program/arguments/arguments.h"
#include "program/arguments/writes.h"

namespace elixir::edit {

using program::Operator;
using program::OperatorId;
using program::Origin;
using program::StorageId;
using program::TensorRef;

namespace {

bool draws_from_cudnn(const Operator& op) {
  return op.name == "aten::_cudnn_rnn" && program::Arguments(op).number("dropout").value_or(1) > 0;
}

}  // namespace

Repeatability::Repeatability(const program::Program& program, const program::Lifetimes& lifetimes)
    : lifetimes_(lifetimes),
      writers_(program.storages.size()),
      last_version_(program.storages.size(), 0) {
  for (const Operator& op : program.operators) {
    if (!lifetimes.executed[op.id]) continue;
    const auto note = [&](StorageId storage, std::int64_t version) {
      last_version_[storage] = std::max<std::int64_t>(last_version_[storage], version);
    };
    for (const StorageId s : written_by(op)) writers_[s].push_back(op.id);
    for (const TensorRef& tensor : program::unreturned_writes(op)) {
      if (!program::updates_statistics(op.name)) writers_[tensor.storage].push_back(op.id);
      note(tensor.storage, tensor.version + 1);
    }
    program::for_each_tensor(
        op.outputs, [&](const TensorRef& tensor) { note(tensor.storage, tensor.version); });
  }
}

std::vector<StorageId> Repeatability::written_by(const Operator& op) const {
  std::set<StorageId> written;
  program::for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
    if (makes(op, tensor.storage) || op.writes) written.insert(tensor.storage);
  });
  return {written.begin(), written.end()};
}

bool Repeatability::makes(const Operator& op, StorageId storage) const {
  const program::StorageUse& use = lifetimes_.storages[storage];
  return use.origin == Origin::kProduced && use.producer == op.id;
}

std::string Repeatability::obstacle(const Operator& op) const {
  if (op.phase == program::Phase::kBackward) return "backward writes it";
  if (draws_from_cudnn(op)) return "draws its dropout from a state of cuDNN's";
  const std::vector<TensorRef> unreturned = program::unreturned_writes(op);
  if (!unreturned.empty() && !program::updates_statistics(op.name)) {
    return "writes an argument that it does not return";
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

std::string Repeatability::obstacle(const Operator& op, const std::vector<bool>& again) const {
  std::string always = obstacle(op);
  if (!always.empty()) return always;
  for (const StorageId s : written_by(op)) {
    if (!again[s] && !makes(op, s)) return fmt::format("writes storage {}, which is kept", s);
  }
  return "";
}

}  // namespace elixir::edit
