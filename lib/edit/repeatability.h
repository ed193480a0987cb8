// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Which operators of forward can run a second time in backward with the same result, and what that
// takes. recompute() and frontier() ask the same questions here.

#include <string>
#include <vector>

#include "program/lifetimes.h"
#include "program/program.h"

namespace elixir::edit {

class Repeatability {
 public:
  /// `lifetimes` must outlive it.
  Repeatability(const program::Program& program, const program::Lifetimes& lifetimes);

  /// Executed operators that write the storage, in order.
  [[nodiscard]] const std::vector<program::OperatorId>& writers(program::StorageId storage) const {
    return writers_[storage];
  }
  /// Storages that the operator makes or writes and returns.
  [[nodiscard]] std::vector<program::StorageId> written_by(const program::Operator& op) const;
  [[nodiscard]] bool makes(const program::Operator& op, program::StorageId storage) const;

  /// Why no copy of the operator gives the same result, whatever else is made again; empty when one
  /// does.
  [[nodiscard]] std::string obstacle(const program::Operator& op) const;
  /// The same, when the storages of `again` are made again and all others are not.
  [[nodiscard]] std::string obstacle(const program::Operator& op,
                                     const std::vector<bool>& again) const;

 private:
  const program::Lifetimes& lifetimes_;
  std::vector<std::vector<program::OperatorId>> writers_;  ///< by storage
  std::vector<std::int32_t> last_version_;                 ///< by storage
};

}  // namespace elixir::edit
