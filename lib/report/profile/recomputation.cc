// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/recomputation.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"
#include "report/terminal/table.h"

namespace elixir::report {
namespace {

using edit::Recompute;
using search::RecomputationPoint;
using search::RecomputationSavings;

std::string_view words_of(Recompute choice) {
  switch (choice) {
    case Recompute::kNone:
      return "nothing";
    case Recompute::kElementwise:
      return "norms and elementwise";
    case Recompute::kBlocks:
      return "all but the blocks' inputs";
    case Recompute::kFrontier:
      return "cheapest for these bytes";
  }
  return "";
}

/// nullopt where no times are known.
std::optional<double> percent_of(const RecomputationSavings& savings,
                                 const RecomputationPoint& point) {
  if (!savings.operators_ns || !point.recompute_ns) return std::nullopt;
  const auto all_ns = static_cast<double>(std::max<std::int64_t>(*savings.operators_ns, 1));
  return 100.0 * static_cast<double>(*point.recompute_ns) / all_ns;
}

Json point_json(const RecomputationSavings& savings, const RecomputationPoint& point) {
  return {{"choice", edit::name_of(point.choice)},
          {"kept_bytes", point.kept_bytes},
          {"saved_bytes", savings.nothing.kept_bytes - point.kept_bytes},
          {"peak_allocated_bytes", point.peak_allocated_bytes},
          {"modelled_recompute_ns", value_or_null(point.recompute_ns)},
          {"modelled_percent", value_or_null(percent_of(savings, point))}};
}

}  // namespace

std::vector<RecomputationRow> recomputation_rows(const RecomputationSavings& savings,
                                                 const ByteUnit& unit) {
  std::vector<RecomputationRow> rows;
  if (savings.points.empty()) return rows;
  const auto add = [&](const RecomputationPoint& point) {
    RecomputationRow row{.choice = std::string(words_of(point.choice)),
                         .saved = "-",
                         .time = savings.operators_ns ? "-" : "",
                         .kept = in_unit(point.kept_bytes, unit),
                         .peak = in_unit(point.peak_allocated_bytes, unit)};
    if (point.choice != Recompute::kNone) {
      row.saved = in_unit(point.kept_bytes - savings.nothing.kept_bytes, unit);
      if (const auto percent = percent_of(savings, point))
        row.time = fmt::format("{:+.1f}", *percent);
    }
    rows.push_back(std::move(row));
  };
  add(savings.nothing);
  for (const RecomputationPoint& point : savings.points) add(point);
  return rows;
}

std::vector<std::string> recomputation_notes(const RecomputationSavings& savings,
                                             const program::Target& target,
                                             const ByteUnit& unit) {
  if (savings.blocks == 0) return {"recomputing saves nothing: there are no blocks"};
  if (savings.points.empty()) {
    return {fmt::format("recomputing saves nothing in the {} blocks", savings.blocks)};
  }
  return {fmt::format("in {} blocks; at least {} {} of activations stay kept",
                      savings.blocks,
                      in_unit(savings.points.back().kept_bytes, unit),
                      unit.name),
          savings.operators_ns
              ? fmt::format("time: modelled with the figures of {}, where all operators take {}",
                            savings.hardware,
                            format_ns(static_cast<double>(*savings.operators_ns)))
              : fmt::format("time: not known, no figures of {} are shipped", target.text())};
}

std::string recomputation_text(const RecomputationSavings& savings,
                               const program::Target& target,
                               const ByteUnit& unit) {
  const std::string unit_name(unit.name);
  const bool timed = savings.operators_ns.has_value();
  std::vector<Column> columns{{"recomputing", "", Align::kLeft}, {"saved", unit_name}};
  if (timed) columns.push_back({"time, modelled", "%"});
  columns.push_back({"kept", unit_name});
  columns.push_back({"peak allocated", unit_name});
  Table table(columns);
  for (RecomputationRow& row : recomputation_rows(savings, unit)) {
    std::vector<std::string> cells{std::move(row.choice), std::move(row.saved)};
    if (timed) cells.push_back(std::move(row.time));
    cells.push_back(std::move(row.kept));
    cells.push_back(std::move(row.peak));
    table.row(std::move(cells));
  }
  std::string text = table.empty() ? "" : table.text();
  for (const std::string& note : recomputation_notes(savings, target, unit)) text += note + "\n";
  return text;
}

Json to_json(const RecomputationSavings& savings) {
  Json points = Json::array();
  for (const RecomputationPoint& point : savings.points) {
    points.push_back(point_json(savings, point));
  }
  return {{"blocks", savings.blocks},
          {"hardware", savings.hardware.empty() ? Json() : Json(savings.hardware)},
          {"modelled_operators_ns", value_or_null(savings.operators_ns)},
          {"nothing", point_json(savings, savings.nothing)},
          {"points", std::move(points)}};
}

}  // namespace elixir::report
