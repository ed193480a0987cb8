// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/arguments/arguments.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/error.h"

namespace elixir::program {
namespace {

using Overloads = std::vector<const ArgumentNames*>;

const ArgumentNames* names_of(const Operator& call) {
  static const std::unordered_map<std::string_view, Overloads> table = [] {
    std::unordered_map<std::string_view, Overloads> by_name;
    for (const ArgumentNames& entry : argument_names()) by_name[entry.name].push_back(&entry);
    return by_name;
  }();
  const auto found = table.find(call.name);
  if (found == table.end()) return nullptr;
  const ArgumentNames* without_overload = nullptr;
  for (const ArgumentNames* entry : found->second) {
    if (entry->overload == call.overload) return entry;
    if (entry->overload.empty()) without_overload = entry;
  }
  return without_overload;
}

}  // namespace

Arguments::Arguments(const Operator& call) : call_(call), names_(names_of(call)) {}

// So few names that comparing them in turn is quicker than a table.
std::optional<std::size_t> Arguments::position(std::string_view name) const {
  if (names_ == nullptr) {
    throw Error(ErrorCode::kInternal, "the names of the arguments of {} are not known", call_.name);
  }
  const std::vector<std::string_view>& names = names_->arguments;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

template <class Value>
const Value* Arguments::find(std::string_view name) const {
  const std::optional<std::size_t> at = position(name);
  if (!at) {
    throw Error(ErrorCode::kInternal, "{} has no argument `{}`", call_.name, name);
  }
  return *at < call_.arguments.size() ? std::get_if<Value>(&call_.arguments[*at]) : nullptr;
}

const TensorRef* Arguments::tensor(std::string_view name) const {
  return find<TensorRef>(name);
}

std::optional<std::int64_t> Arguments::integer(std::string_view name) const {
  const auto* value = find<std::int64_t>(name);
  return value == nullptr ? std::nullopt : std::optional<std::int64_t>(*value);
}

std::optional<double> Arguments::number(std::string_view name) const {
  const auto* value = find<double>(name);
  return value == nullptr ? std::nullopt : std::optional<double>(*value);
}

bool Arguments::flag(std::string_view name) const {
  const auto* value = find<bool>(name);
  return value != nullptr && *value;
}

Ints Arguments::integers(std::string_view name) const {
  const auto* value = find<Ints>(name);
  return value == nullptr ? Ints{} : *value;
}

Bools Arguments::booleans(std::string_view name) const {
  const auto* value = find<Bools>(name);
  return value == nullptr ? Bools{} : *value;
}

}  // namespace elixir::program
