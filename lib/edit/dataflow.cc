// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/dataflow.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace elixir::edit {

using program::Operator;
using program::OperatorId;
using program::StorageId;
using program::TensorRef;

bool is_dense(const TensorRef& tensor) {
  std::int64_t stride = 1;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != stride) return false;
    stride *= tensor.sizes[d];
  }
  return true;
}

const TensorRef* result_of(const Operator& op) {
  return op.outputs.empty() ? nullptr : std::get_if<TensorRef>(&op.outputs[0]);
}

std::string because(const Operator& op, std::string_view what) {
  return fmt::format("operator {} ({}) {}", op.id, op.name, what);
}

Dataflow::Dataflow(const program::Program& program, const program::Lifetimes& lifetimes)
    : program_(program), lifetimes_(lifetimes), users_(program.storages.size()) {
  for (const Operator& op : program.operators) {
    if (!lifetimes.executed[op.id]) continue;
    const auto add = [&](const TensorRef& tensor) {
      auto& users = users_[tensor.storage];
      if (users.empty() || users.back() != op.id) users.push_back(op.id);
    };
    program::for_each_tensor(op.arguments, add);
    program::for_each_tensor(op.outputs, add);
  }
}

const Operator* Dataflow::user(StorageId storage, std::string_view name, OperatorId after) const {
  const auto& users = users_[storage];
  const auto found = std::find_if(
      users.begin(), users.end(), [&](OperatorId id) { return id > after && at(id).name == name; });
  return found == users.end() ? nullptr : &at(*found);
}

std::string Dataflow::other_user(StorageId storage,
                                 const std::vector<OperatorId>& known,
                                 std::string_view what) const {
  for (const OperatorId id : users_[storage]) {
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    return because(at(id), fmt::format("uses {} too", what));
  }
  return {};
}

const Operator* Dataflow::producer(const TensorRef& tensor) const {
  const program::StorageUse& use = lifetimes_.storages[tensor.storage];
  return use.origin == program::Origin::kProduced && use.producer >= 0 ? &at(use.producer)
                                                                       : nullptr;
}

}  // namespace elixir::edit
