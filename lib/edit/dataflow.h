// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Who makes and who uses each storage of a program, for edits that look for patterns of operators.
// Views are looked through: only executed operators count.

#include <string>
#include <string_view>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::edit {

/// The elements are one dense block, in order.
[[nodiscard]] bool is_dense(const program::TensorRef& tensor);
/// The first result, when it is a tensor; else nullptr.
[[nodiscard]] const program::TensorRef* result_of(const program::Operator& op);
/// "operator 12 (aten::mul) reads the log-softmax too"
[[nodiscard]] std::string because(const program::Operator& op, std::string_view what);

/// `program` and `lifetimes` must outlive it.
class Dataflow {
 public:
  Dataflow(const program::Program& program, const program::Lifetimes& lifetimes);

  [[nodiscard]] const program::Operator& at(program::OperatorId id) const {
    return program_.operators[id];
  }
  [[nodiscard]] const program::Program& program() const { return program_; }
  /// The operators that read, write or make `storage`, in order.
  [[nodiscard]] const std::vector<program::OperatorId>& users(program::StorageId storage) const {
    return users_[storage];
  }
  /// The first operator of this name that uses `storage` after `after`; nullptr: none.
  [[nodiscard]] const program::Operator* user(program::StorageId storage,
                                              std::string_view name,
                                              program::OperatorId after) const;
  /// Empty when only `known` operators use `storage`; else who does too.
  [[nodiscard]] std::string other_user(program::StorageId storage,
                                       const std::vector<program::OperatorId>& known,
                                       std::string_view what) const;
  /// The operator that makes the storage of `tensor`; nullptr: none does.
  [[nodiscard]] const program::Operator* producer(const program::TensorRef& tensor) const;

 private:
  const program::Program& program_;
  const program::Lifetimes& lifetimes_;
  std::vector<std::vector<program::OperatorId>> users_;  ///< by storage
};

}  // namespace elixir::edit
