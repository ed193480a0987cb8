// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Tables for people: no borders, a header row, a row of units if any column has one, numbers
// right-aligned. Use one row per entity and one unit per column.

#include <string>
#include <vector>

namespace elixir::report {

enum class Align { kLeft, kRight };

struct Column {
  std::string header;
  std::string unit;  ///< shown as (unit); empty for none
  Align align = Align::kRight;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);
  /// `cells` must have one cell per column, else it is a bug (kInternal).
  void row(std::vector<std::string> cells);
  /// All lines, each with a final newline, without trailing spaces.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace elixir::report
