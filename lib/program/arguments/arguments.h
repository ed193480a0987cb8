// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// In this folder: what a recorded call says about itself. Here: its arguments by the names of its
// schema. A program holds them by position alone; the names are a table (argument_names.cc).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace elixir::program {

/// The argument names of one operator in LibTorch's schema.
struct ArgumentNames {
  std::string_view name;      ///< "aten::sum"
  std::string_view overload;  ///< "dim_IntList"
  std::vector<std::string_view> arguments;
};

/// The whole table. Its order has no meaning.
[[nodiscard]] const std::vector<ArgumentNames>& argument_names();

/// A view of a call's arguments; the call must outlive it. A document may hold fewer arguments than
/// the schema has, or values of other types: both count as missing. Asking for a name
/// that the operator does not have, or for an operator that the table does not have, is a bug:
/// throws kInternal.
class Arguments {
 public:
  /// For an overload that the table lacks, uses the names of the operator without an overload.
  explicit Arguments(const Operator& call);

  /// Whether the operator has an argument of this name.
  [[nodiscard]] bool have(std::string_view name) const { return position(name).has_value(); }
  /// nullptr when the argument is missing or not a tensor.
  [[nodiscard]] const TensorRef* tensor(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;  ///< false when missing
  [[nodiscard]] Ints integers(std::string_view name) const;
  [[nodiscard]] Bools booleans(std::string_view name) const;

 private:
  [[nodiscard]] std::optional<std::size_t> position(std::string_view name) const;
  template <class Value>
  [[nodiscard]] const Value* find(std::string_view name) const;

  const Operator& call_;
  const ArgumentNames* names_;
};

}  // namespace elixir::program
