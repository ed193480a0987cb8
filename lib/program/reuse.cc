// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/reuse.h"

#include <algorithm>
#include <map>
#include <set>

namespace elixir::program {
namespace {

/// How one call uses a storage: the bytes it touches, and whether it returns the storage.
struct Touch {
  std::int64_t bytes = 0;
  bool written = false;
};

std::map<StorageId, Touch> touches_of(const Operator& op) {
  std::map<StorageId, Touch> touches;
  const auto add = [&](const TensorRef& tensor) {
    Touch& touch = touches[tensor.storage];
    touch.bytes = std::max(touch.bytes, tensor.touched_bytes());
  };
  for_each_tensor(op.arguments, add);
  for_each_tensor(op.outputs, [&](const TensorRef& tensor) {
    add(tensor);
    touches[tensor.storage].written = true;
  });
  return touches;
}

}  // namespace

std::vector<Reuse> recent_uses(const Program& program,
                               const Lifetimes& lifetimes,
                               OperatorId op,
                               std::int64_t limit_bytes) {
  std::set<StorageId> wanted;
  for_each_tensor(program.operators.at(op).arguments,
                  [&](const TensorRef& tensor) { wanted.insert(tensor.storage); });
  std::vector<Reuse> uses;
  std::int64_t since = 0;
  for (OperatorId before = op - 1; before >= 0 && since <= limit_bytes && !wanted.empty();
       --before) {
    if (!lifetimes.executed.at(before)) continue;
    std::int64_t bytes = 0;
    for (const auto& [storage, touch] : touches_of(program.operators[before])) {
      bytes += touch.bytes;
      if (wanted.erase(storage) > 0) uses.push_back({storage, since, touch.written});
    }
    since += bytes;
  }
  std::reverse(uses.begin(), uses.end());
  return uses;
}

}  // namespace elixir::program
