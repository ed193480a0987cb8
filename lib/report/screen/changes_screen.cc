// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/changes_screen.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "program/names/alike.h"
#include "program/names/labels.h"
#include "report/screen/alike.h"
#include "report/terminal/table.h"
#include "report/terminal/terminal.h"

namespace elixir::report {
namespace {

using memory::Amount;
using memory::Change;
using memory::ModuleChange;
using memory::OperatorChange;
using memory::Presence;
using memory::ProfileChanges;

constexpr std::size_t kMostShown = 10;

std::string mib(std::int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / static_cast<double>(1_MiB));
}

/// "+1,024", "-512", "" for no change.
std::string signed_count(std::int64_t value) {
  if (value == 0) return "";
  return (value > 0 ? "+" : "") + format_count(value);
}

std::string change_percent(const Amount& amount) {
  if (!amount.changed() || amount.before == 0) return "";
  return fmt::format(
      "{:+.2f}", 100.0 * static_cast<double>(growth(amount)) / static_cast<double>(amount.before));
}

std::string module_name(const std::string& path) {
  return one_line(program::module_label(path));
}

std::string_view presence_word(Presence presence) {
  switch (presence) {
    case Presence::kBoth:
      return "";
    case Presence::kNew:
      return "new";
    case Presence::kGone:
      return "gone";
  }
  return "";
}

/// Lists what makes the two profiles hard to compare.
std::string differences(const ProfileChanges& changes) {
  std::string text;
  const auto say = [&text](std::string_view what, const Change<std::string>& change) {
    if (!change.changed()) return;
    text += fmt::format(
        "  {}: {} before, {} now\n", what, one_line(change.before), one_line(change.after));
  };
  say("target", changes.target);
  say("optimizer", changes.optimizer);
  say("workspaces of convolutions", changes.workspaces);
  say("inputs",
      {fmt::format("{}", fmt::join(changes.inputs.before, ", ")),
       fmt::format("{}", fmt::join(changes.inputs.after, ", "))});
  return text;
}

std::string totals(const ProfileChanges& changes) {
  Table table({{"compared", "", Align::kLeft},
               {"before", "MiB"},
               {"now", "MiB"},
               {"change", "bytes"},
               {"", "%"}});
  const auto row = [&table](const std::string& name, const Amount& amount) {
    table.row({name,
               mib(amount.before),
               mib(amount.after),
               signed_count(growth(amount)),
               change_percent(amount)});
  };
  row("peak allocated", changes.peak_allocated_bytes);
  const auto known = [&](const std::string& name,
                         const Change<std::optional<std::int64_t>>& change) {
    const auto cell = [](const std::optional<std::int64_t>& value) {
      return value ? mib(*value) : "-";
    };
    if (change.before && change.after) {
      row(name, {*change.before, *change.after});
    } else if (change.before || change.after) {
      table.row({name, cell(change.before), cell(change.after), "", ""});
    }
  };
  known("peak reserved", changes.peak_reserved_bytes);
  known("process memory", changes.process_peak_bytes);
  Amount tensors;
  for (const memory::CategoryChange& category : changes.categories) {
    const Amount& peak = category.at_peak_bytes;
    if (peak.before == 0 && peak.after == 0) continue;
    row("  at the tensors' peak: " + program::label_of(category.category), peak);
    tensors.before += peak.before;
    tensors.after += peak.after;
  }
  // The part of the peak in no category, so that the rows add up to the peak.
  const Amount rest{changes.peak_allocated_bytes.before - tensors.before,
                    changes.peak_allocated_bytes.after - tensors.after};
  if (rest.before != 0 || rest.after != 0) row("  beyond it: workspaces, unsplit blocks", rest);
  for (const memory::CategoryChange& category : changes.categories) {
    const Amount& made = category.made_bytes;
    if (made.before == 0 && made.after == 0) continue;
    row("  in all: " + program::label_of(category.category), made);
  }
  return table.text();
}

std::string counts(const ProfileChanges& changes) {
  const auto line = [](std::string_view name, const Amount& amount) {
    if (!amount.changed()) {
      return fmt::format("{} {}, as before\n", format_count(amount.after), name);
    }
    return fmt::format("{} {}, {} before ({})\n",
                       format_count(amount.after),
                       name,
                       format_count(amount.before),
                       signed_count(growth(amount)));
  };
  std::string text =
      line("parameters", changes.parameters) + line("operator calls", changes.operator_calls);
  const auto place = [](const std::string& op, const std::string& module) {
    return op.empty() ? "no operator" : fmt::format("{} in {}", one_line(op), module_name(module));
  };
  const std::string before = place(changes.peak_operator.before, changes.peak_module.before);
  const std::string now = place(changes.peak_operator.after, changes.peak_module.after);
  // Why "of tensors": with workspaces the peak may be at another operator, and a profile document
  // does not say at which.
  text += before == now
              ? fmt::format("the peak of tensors alone is at {}, as before\n", now)
              : fmt::format("the peak of tensors alone is at {}, was at {}\n", now, before);
  return text;
}

/// "modules that differ: 13 (10 grew, 1 shrank, 1 new, 0 gone, 1 in their peak inside alone)".
template <class Item, class Grown>
std::string heading(std::string_view what,
                    const std::vector<Item>& items,
                    Grown grown,
                    std::string_view otherwise) {
  std::int64_t grew = 0;
  std::int64_t shrank = 0;
  std::int64_t added = 0;
  std::int64_t gone = 0;
  std::int64_t other = 0;
  for (const Item& item : items) {
    const std::int64_t by = grown(item);
    if (item.presence == Presence::kNew) {
      ++added;
    } else if (item.presence == Presence::kGone) {
      ++gone;
    } else if (by != 0) {
      ++(by > 0 ? grew : shrank);
    } else {
      ++other;
    }
  }
  return fmt::format("\n{} that differ: {} ({} grew, {} shrank, {} new, {} gone{})\n",
                     what,
                     format_count(static_cast<std::int64_t>(items.size())),
                     grew,
                     shrank,
                     added,
                     gone,
                     other == 0 ? "" : fmt::format(", {} {}", other, otherwise));
}

/// One line of a table of changes: a module or operator, or several of one shape with equal
/// changes. Figures are sums over them.
struct Row {
  std::string name;
  int count = 1;
  Presence presence = Presence::kBoth;
  /// The growth in each column. Rows are sorted by the first.
  std::vector<std::int64_t> growths;
  std::string suffix;  ///< after the name: " (backward)"
};

/// Joins rows of one shape with equal figures in the first `compared` columns. The figures of these
/// columns are summed; the other columns keep their largest figure. Largest first, then in the
/// given order.
std::vector<Row> joined(const std::vector<Row>& rows, std::size_t compared) {
  using Key = std::tuple<std::string, Presence, std::vector<std::int64_t>>;
  std::map<Key, std::size_t> positions;
  std::vector<Row> result;
  for (const Row& row : rows) {
    const auto end = row.growths.begin() + static_cast<std::ptrdiff_t>(compared);
    const Key key(
        program::shape_of(row.name) + row.suffix, row.presence, {row.growths.begin(), end});
    const auto found = positions.try_emplace(key, result.size());
    if (found.second) {
      result.push_back(row);
      continue;
    }
    Row& group = result[found.first->second];
    group.name = program::common_name(group.name, row.name);
    ++group.count;
    for (std::size_t i = 0; i < row.growths.size(); ++i) {
      group.growths[i] = i < compared ? group.growths[i] + row.growths[i]
                                      : std::max(group.growths[i], row.growths[i]);
    }
  }
  std::stable_sort(result.begin(), result.end(), [](const Row& a, const Row& b) {
    return a.growths > b.growths;
  });
  return result;
}

/// The rows that grew most, then the rows that shrank most, then one row for the rest with its sums
/// in the first `summed` columns, so that these columns add up.
std::string rows_table(Table table, const std::vector<Row>& rows, std::size_t summed) {
  constexpr std::size_t kMostShrunkShown = 3;
  const std::size_t shown = std::min(rows.size(), kMostShown);
  std::size_t shrunk = 0;
  if (shown < rows.size()) {
    while (shrunk < kMostShrunkShown && rows[rows.size() - 1 - shrunk].growths.front() < 0) {
      ++shrunk;
    }
  }
  const auto add = [&](const Row& row) {
    std::vector<std::string> cells{"  " + name_of_alike(row.name, row.count) + row.suffix};
    for (const std::int64_t growth : row.growths) cells.push_back(signed_count(growth));
    cells.emplace_back(presence_word(row.presence));
    table.row(std::move(cells));
  };
  for (std::size_t i = 0; i < shown - shrunk; ++i) add(rows[i]);
  for (std::size_t i = rows.size() - shrunk; i < rows.size(); ++i) add(rows[i]);
  if (shown < rows.size()) {
    std::int64_t left = 0;
    std::vector<std::int64_t> sums(rows.front().growths.size());
    for (std::size_t i = shown - shrunk; i < rows.size() - shrunk; ++i) {
      left += rows[i].count;
      for (std::size_t j = 0; j < summed; ++j) sums[j] += rows[i].growths[j];
    }
    std::vector<std::string> cells{fmt::format("  ... {} more, together", format_count(left))};
    for (const std::int64_t sum : sums) cells.push_back(signed_count(sum));
    cells.emplace_back();
    table.row(std::move(cells));
  }
  return table.text();
}

std::string modules(const std::vector<ModuleChange>& changes) {
  if (changes.empty()) return "";
  const auto grown = [](const ModuleChange& change) {
    return growth(change.at_peak_bytes) != 0 ? growth(change.at_peak_bytes)
                                             : growth(change.activations_bytes);
  };
  std::vector<Row> rows;
  rows.reserve(changes.size());
  for (const ModuleChange& change : changes) {
    rows.push_back({program::module_label(change.path),
                    1,
                    change.presence,
                    {growth(change.at_peak_bytes),
                     growth(change.activations_bytes),
                     growth(change.parameters),
                     growth(change.peak_inside_bytes)},
                    ""});
  }
  constexpr std::size_t kOwnColumns = 3;
  return heading("modules", changes, grown, "in parameters or peak inside alone") +
         rows_table(Table({{"", "", Align::kLeft},
                           {"at tensors' peak", "bytes"},
                           {"activations", "bytes"},
                           {"parameters", ""},
                           {"tensors' peak inside", "bytes"},
                           {"", "", Align::kLeft}}),
                    joined(rows, kOwnColumns),
                    kOwnColumns);
}

std::string operators(const std::vector<OperatorChange>& changes) {
  if (changes.empty()) return "";
  const auto grown = [](const OperatorChange& change) { return growth(change.allocated_bytes); };
  std::vector<Row> rows;
  rows.reserve(changes.size());
  for (const OperatorChange& change : changes) {
    rows.push_back(
        {fmt::format("{} in {}", change.name, program::module_label(change.module)),
         1,
         change.presence,
         {growth(change.allocated_bytes), growth(change.at_peak_bytes), growth(change.calls)},
         change.phase == program::Phase::kForward ? "" : " (backward)"});
  }
  const std::size_t columns = rows.front().growths.size();
  return heading("operators by module", changes, grown, "that allocate as much in all") +
         rows_table(Table({{"", "", Align::kLeft},
                           {"allocates", "bytes"},
                           {"at tensors' peak", "bytes"},
                           {"calls", ""},
                           {"", "", Align::kLeft}}),
                    joined(rows, columns),
                    columns);
}

template <class T>
Json change_json(const Change<T>& change) {
  return {{"before", change.before}, {"now", change.after}};
}

Json change_json(const Change<std::optional<std::int64_t>>& change) {
  const auto json = [](const std::optional<std::int64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  return {{"before", json(change.before)}, {"now", json(change.after)}};
}

std::string_view presence_json(Presence presence) {
  return presence == Presence::kBoth ? "both" : presence_word(presence);
}

}  // namespace

std::string changes_screen(const ProfileChanges& changes, const std::string& before) {
  std::string text = fmt::format("compared with {}\n", one_line(before));
  text += differences(changes) + "\n" + totals(changes) + "\n" + counts(changes);
  if (changes.same())
    return text + "the programs are the same: modules and operators are as before\n";
  return text + modules(changes.modules) + operators(changes.operators);
}

Json to_json(const ProfileChanges& changes) {
  Json categories = Json::array();
  for (const memory::CategoryChange& category : changes.categories) {
    categories.push_back({{"category", name_of(category.category)},
                          {"at_peak_bytes", change_json(category.at_peak_bytes)},
                          {"made_bytes", change_json(category.made_bytes)}});
  }
  Json modules = Json::array();
  for (const ModuleChange& change : changes.modules) {
    modules.push_back({{"module", change.path},
                       {"presence", presence_json(change.presence)},
                       {"at_peak_bytes", change_json(change.at_peak_bytes)},
                       {"activations_bytes", change_json(change.activations_bytes)},
                       {"peak_inside_bytes", change_json(change.peak_inside_bytes)},
                       {"parameters", change_json(change.parameters)}});
  }
  Json operators = Json::array();
  for (const OperatorChange& change : changes.operators) {
    operators.push_back(
        {{"module", change.module},
         {"name", change.name},
         {"phase", change.phase == program::Phase::kForward ? "forward" : "backward"},
         {"presence", presence_json(change.presence)},
         {"calls", change_json(change.calls)},
         {"calls_resized", change.calls_resized},
         {"allocated_bytes", change_json(change.allocated_bytes)},
         {"at_peak_bytes", change_json(change.at_peak_bytes)}});
  }
  return {{"same_program", changes.same()},
          {"model_path", change_json(changes.model_path)},
          {"fingerprint", change_json(changes.fingerprint)},
          {"target", change_json(changes.target)},
          {"optimizer", change_json(changes.optimizer)},
          {"workspaces", change_json(changes.workspaces)},
          {"inputs", change_json(changes.inputs)},
          {"peak_allocated_bytes", change_json(changes.peak_allocated_bytes)},
          {"peak_reserved_bytes", change_json(changes.peak_reserved_bytes)},
          {"process_peak_bytes", change_json(changes.process_peak_bytes)},
          {"activations_peak_bytes", change_json(changes.activations_peak_bytes)},
          {"parameters", change_json(changes.parameters)},
          {"operator_calls", change_json(changes.operator_calls)},
          {"peak_operator", change_json(changes.peak_operator)},
          {"peak_module", change_json(changes.peak_module)},
          {"categories", std::move(categories)},
          {"modules", std::move(modules)},
          {"operators", std::move(operators)}};
}

}  // namespace elixir::report
