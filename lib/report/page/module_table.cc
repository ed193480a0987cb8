// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/module_table.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "program/names/labels.h"
#include "report/page/html.h"

namespace elixir::report {
namespace {

using memory::ModuleMemory;

/// Number of rows that are open at first: about one screen.
constexpr std::size_t kOpenRows = 24;

class Writer {
 public:
  Writer(const std::vector<ModuleMemory>& tree, const ByteUnit& unit, std::size_t limit)
      : tree_(tree),
        unit_(unit),
        work_(program::work_unit(tree[0].flops)),
        shown_(tree.size(), false),
        open_(tree.size(), false) {
    choose(limit);
  }

  std::string html() {
    text_ =
        "<table id=\"modules\" class=\"tree\"><thead><tr><th>module</th><th>parameters</th>"
        "<th>activations made</th><th class=\"bar\"></th><th>peak inside</th><th>calls</th>"
        "<th>" +
        std::string(work_.name) + "</th></tr></thead><tbody>\n";
    write(0, 0);
    return text_ + "</tbody></table>\n";
  }

 private:
  [[nodiscard]] const ModuleMemory& module(std::int32_t position) const {
    return tree_[static_cast<std::size_t>(position)];
  }

  /// Chooses, breadth first, which modules have a row and which rows are open at first.
  void choose(std::size_t limit) {
    std::vector<std::int32_t> order{0};
    shown_[0] = true;
    std::size_t rows = 1;
    std::size_t visible = 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& children = module(order[i]).children;
      if (!children.empty() && visible + children.size() <= kOpenRows) {
        open_[static_cast<std::size_t>(order[i])] = true;
        visible += children.size();
      }
      for (const std::int32_t child : children) {
        if (rows == limit) break;
        shown_[static_cast<std::size_t>(child)] = true;
        order.push_back(child);
        ++rows;
      }
    }
  }

  void write(std::int32_t position, int depth) {
    const ModuleMemory& of = module(position);
    const bool has_children = !of.children.empty();
    text_ += fmt::format("<tr data-depth=\"{}\"{}>",
                         depth,
                         open_[static_cast<std::size_t>(position)] ? " data-open" : "");
    text_ +=
        fmt::format("<td style=\"--d:{}\" title=\"{}\">{}{}</td>",
                    depth,
                    escape_html(shortened(of.path)),
                    has_children ? "<button aria-label=\"open or close\"></button>" : "<i></i>",
                    escape_html(position == 0 ? program::module_label("") : shortened(of.name)));
    figures(of.parameters_bytes, of.activations_bytes, of.peak_bytes, of.operators, of.flops);

    std::int64_t left_out = 0;
    ModuleMemory rest;
    for (const std::int32_t child : of.children) {
      if (shown_[static_cast<std::size_t>(child)]) {
        write(child, depth + 1);
        continue;
      }
      ++left_out;
      rest.parameters_bytes += module(child).parameters_bytes;
      rest.activations_bytes += module(child).activations_bytes;
      rest.peak_bytes = std::max(rest.peak_bytes, module(child).peak_bytes);
      rest.operators += module(child).operators;
      rest.flops += module(child).flops;
    }
    if (left_out == 0) return;
    text_ += fmt::format(
        "<tr data-depth=\"{0}\" class=\"more\"><td style=\"--d:{0}\"><i></i>… {1} "
        "more</td>",
        depth + 1,
        format_count(left_out));
    figures(
        rest.parameters_bytes, rest.activations_bytes, rest.peak_bytes, rest.operators, rest.flops);
  }

  void figures(std::int64_t parameters_bytes,
               std::int64_t activations_bytes,
               std::int64_t peak_bytes,
               std::int64_t operators,
               std::int64_t flops) {
    const auto all = static_cast<double>(std::max<std::int64_t>(tree_[0].activations_bytes, 1));
    text_ += fmt::format(
        "<td>{}</td><td>{}</td><td class=\"bar\"><b style=\"--w:{:.3g}%\"></b></td><td>{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        in_unit(parameters_bytes, unit_),
        in_unit(activations_bytes, unit_),
        100 * static_cast<double>(activations_bytes) / all,
        in_unit(peak_bytes, unit_),
        format_count(operators),
        escape_html(program::in_unit(flops, work_)));
  }

  const std::vector<ModuleMemory>& tree_;
  const ByteUnit& unit_;
  program::WorkUnit work_;
  std::vector<bool> shown_;
  std::vector<bool> open_;
  std::string text_;
};

}  // namespace

std::string module_table(const std::vector<ModuleMemory>& tree,
                         const ByteUnit& unit,
                         std::size_t limit) {
  require(!tree.empty() && limit >= 1, "a module tree has a root, and room for it");
  return Writer(tree, unit, limit).html();
}

}  // namespace elixir::report
