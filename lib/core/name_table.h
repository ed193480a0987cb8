// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The words that documents and flags have for the values of an enum. Each enum has one table;
// elsewhere there are no words. `JsonCursor::choice()` and `Flags::choice()` read by it.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elixir {

template <class Enum, std::size_t kCount>
struct NameTable {
  struct Entry {
    Enum value;
    std::string_view name;
  };
  Entry entries[kCount];

  /// "" for a value that is not in the table.
  [[nodiscard]] constexpr std::string_view name_of(Enum value) const {
    for (const Entry& entry : entries) {
      if (entry.value == value) return entry.name;
    }
    return "";
  }
  [[nodiscard]] constexpr std::optional<Enum> named(std::string_view name) const {
    for (const Entry& entry : entries) {
      if (entry.name == name) return entry.value;
    }
    return std::nullopt;
  }
  /// In the table's order.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const Entry& entry : entries) all.emplace_back(entry.name);
    return all;
  }
};

}  // namespace elixir
