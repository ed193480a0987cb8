// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/table.h"

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "report/terminal/terminal.h"

namespace elixir::report {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::row(std::vector<std::string> cells) {
  require(cells.size() == columns_.size(), "a table row has another number of cells than columns");
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::string> headers;
  std::vector<std::string> units;
  bool has_units = false;
  for (const Column& column : columns_) {
    headers.push_back(column.header);
    units.push_back(column.unit.empty() ? "" : "(" + column.unit + ")");
    has_units = has_units || !column.unit.empty();
  }
  std::vector<const std::vector<std::string>*> lines{&headers};
  if (has_units) lines.push_back(&units);
  for (const auto& row : rows_) lines.push_back(&row);

  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto* line : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width((*line)[i]));
    }
  }
  std::string result;
  for (const auto* line : lines) {
    std::string text;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) text += "  ";
      const std::string& cell = (*line)[i];
      const std::string padding(widths[i] - display_width(cell), ' ');
      text += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    result += text + '\n';
  }
  return result;
}

}  // namespace elixir::report
