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

/// What LibTorch's schema calls the arguments of one operator.
struct ArgumentNames {
  std::string_view name;      ///< "aten::sum"
  std::string_view overload;  ///< "dim_IntList"
  std::vector<std::string_view> arguments;
};

/// The whole table, in no order that matters.
[[nodiscard]] const std::vector<ArgumentNames>& argument_names();

/// A view: the call must outlive it. A document may hold fewer arguments than the schema has, or
/// values of other types: they are as good as not there. Every name must be one of the operator's;
/// any other, and an operator that the table lacks, is a bug and throws kInternal.
class Arguments {
 public:
  /// An overload that the table lacks has the names of the operator without an overload.
  explicit Arguments(const Operator& call);

  /// Whether the operator has an argument of this name.
  [[nodiscard]] bool have(std::string_view name) const { return position(name).has_value(); }
  /// nullptr where it is none, or not there.
  [[nodiscard]] const TensorRef* tensor(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;  ///< false where it is not there
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
