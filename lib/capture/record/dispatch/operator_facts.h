// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// What the tables say about one operator, for one target.

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/operator_name.h>

#include "capture/decompositions/decompositions.h"
#include "capture/meta/meta_kernels.h"
#include "program/program.h"

namespace elixir::capture {

struct OperatorFacts {
  std::string name;  ///< with overload: "aten::add.Tensor"
  std::vector<const Decomposition*> decompositions;
  Geometry geometry;
  bool copies = false;             ///< its source may be on another device
  bool reads_data = false;         ///< its result or its size depends on values
  bool factory_with_size = false;  ///< makes a tensor whose size is given by numbers, not by a list
  std::optional<std::size_t> dtype_argument;
};

/// Looks each operator up once.
class OperatorTable {
 public:
  explicit OperatorTable(const program::Target& target) : target_(target) {}
  /// Stays where it is.
  [[nodiscard]] const OperatorFacts& of(const c10::OperatorHandle& op);

 private:
  const program::Target target_;
  std::unordered_map<c10::OperatorName, OperatorFacts> known_;
};

}  // namespace elixir::capture
