// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/profile_screen.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "memory/analysis/module_memory.h"
#include "memory/analysis/occupation.h"
#include "memory/step/timeline_buckets.h"
#include "program/loss_scale.h"
#include "program/names/labels.h"
#include "report/profile/byte_unit.h"
#include "report/profile/layers.h"
#include "report/profile/live_tensors.h"
#include "report/profile/peak_basis.h"
#include "report/profile/recomputation.h"
#include "report/screen/module_rows.h"
#include "report/terminal/line_printer.h"
#include "report/terminal/table.h"

namespace elixir::report {
namespace {

using program::Operator;
using program::Program;

constexpr std::size_t kLargestShown = 10;
constexpr std::size_t kModuleRowsShown = 16;
constexpr std::size_t kNarrowestName = 12;

/// A table that fits a terminal: the cells of its `flexible` column are elided in the middle if
/// needed.
class FittedTable {
 public:
  FittedTable(std::vector<Column> columns, std::size_t flexible, const Style& style)
      : columns_(std::move(columns)), flexible_(flexible), style_(style) {}

  void row(std::vector<std::string> cells) {
    // Measured as displayed, because without UTF-8 an ellipsis takes three columns.
    for (std::string& cell : cells) cell = fit(cell, style_);
    rows_.push_back(std::move(cells));
  }

  [[nodiscard]] std::string text() const {
    std::size_t names = 0;
    for (const auto& row : rows_) names = std::max(names, display_width(row[flexible_]));
    std::string text = rendered(names);
    const std::size_t width = widest_line(text);
    const auto limit = static_cast<std::size_t>(std::max(style_.columns, 1));
    if (!style_.terminal || width <= limit) return text;
    const std::size_t excess = width - limit;
    return rendered(names > excess + kNarrowestName ? names - excess : kNarrowestName);
  }

 private:
  [[nodiscard]] std::string rendered(std::size_t name_columns) const {
    Table table(columns_);
    for (std::vector<std::string> row : rows_) {
      row[flexible_] = elide_middle(row[flexible_], name_columns);
      table.row(std::move(row));
    }
    return table.text();
  }

  static std::size_t widest_line(std::string_view text) {
    std::size_t widest = 0;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1);
      widest = std::max(widest, display_width(text.substr(0, end)));
      text.remove_prefix(end + 1);
    }
    return widest;
  }

  std::vector<Column> columns_;
  std::size_t flexible_;
  const Style& style_;
  std::vector<std::vector<std::string>> rows_;
};

/// "197.3 TFLOP", "12.4 GFLOP", "0.3 MFLOP".
std::string work_text(std::int64_t flops) {
  const auto value = static_cast<double>(flops);
  if (value >= 1e15) return format_count(flops / 1'000'000'000'000) + " TFLOP";
  if (value >= 1e12) return fmt::format("{:.4g} TFLOP", value * 1e-12);
  if (value >= 1e9) return fmt::format("{:.4g} GFLOP", value * 1e-9);
  return fmt::format("{:.3g} MFLOP", value * 1e-6);
}

std::string heading(const program::Profile& profile) {
  const Program& program = profile.program;
  const std::int64_t forward = memory::first_backward(program);
  std::vector<std::string> inputs;
  for (const program::Input& input : program.inputs) {
    inputs.push_back(fmt::format("{} {}", input.name, program::geometry_of(input.tensor)));
  }
  std::int64_t flops = 0;
  for (const Operator& op : program.operators) flops += op.flops;
  std::optional<std::string> scales;
  if (profile.optimizer != program::Optimizer::kNone) scales = program::needs_loss_scale(program);
  return fmt::format(
      "{}\n  {} parameters, {} operator calls ({} forward, {} backward), {} a step\n"
      "  target {}, optimizer {}, input {}\n{}",
      profile.model_path,
      format_count(program.parameter_count()),
      format_count(static_cast<std::int64_t>(program.operators.size())),
      format_count(forward),
      format_count(static_cast<std::int64_t>(program.operators.size()) - forward),
      work_text(flops),
      program.target.text(),
      profile.optimizer_use().text(),
      fmt::join(inputs, ", "),
      scales ? fmt::format("  trains with a loss scale: {}\n", *scales) : "");
}

std::string peaks(const program::MemorySummary& memory,
                  const program::Target& target,
                  const memory::TrainingStep& step,
                  const ByteUnit& unit) {
  Table table({{"peak", "", Align::kLeft}, {"", std::string(unit.name)}, {"", "", Align::kLeft}});
  const auto row =
      [&](const char* name, std::optional<std::int64_t> bytes, const std::string& meaning) {
        table.row({name, bytes ? in_unit(*bytes, unit) : "-", meaning});
      };
  row("allocated", memory.peak_allocated_bytes, basis_of_allocated(step));
  row("reserved", memory.peak_reserved_bytes, basis_of_reserved(memory));
  row("process", memory.process_peak_bytes, basis_of_process(memory, target, step));
  std::string text = table.text();
  if (!memory.certainty) return text;
  for (const std::string& reason : memory.certainty->reasons) {
    text += fmt::format("  {}\n", one_line(reason));
  }
  return text;
}

std::string peak_operator(const Program& program, const memory::Timeline& timeline) {
  if (timeline.peak_operator < 0) {
    return program.operators.empty() ? "" : "reached while the optimizer updates parameters\n";
  }
  const Operator& op = program.operators[static_cast<std::size_t>(timeline.peak_operator)];
  return fmt::format("reached at operator {}, {} in {} ({})\n",
                     op.id,
                     op.name,
                     program::module_label(program, op),
                     program::label_of(op.phase));
}

std::string categories(const memory::Timeline& timeline, const ByteUnit& unit) {
  const std::string unit_name(unit.name);
  Table table({{"allocated", "", Align::kLeft}, {"at the peak", unit_name}, {"most", unit_name}});
  for (const Layer layer : kLayers) {
    const std::int64_t most = layer_most(timeline, layer);
    if (most == 0) continue;
    table.row(
        {layer_label(layer), in_unit(layer_at_peak(timeline, layer), unit), in_unit(most, unit)});
  }
  table.row({"together", in_unit(timeline.peak_bytes, unit), in_unit(timeline.peak_bytes, unit)});
  return table.text();
}

std::string largest(const Program& program,
                    const memory::Timeline& timeline,
                    const ByteUnit& unit,
                    const Style& style) {
  FittedTable table({{"alive at the peak", std::string(unit.name)},
                     {"each", std::string(unit.name)},
                     {"category", "", Align::kLeft},
                     {"tensor", "", Align::kLeft},
                     {"of", "", Align::kLeft}},
                    4,
                    style);
  std::size_t shown = 0;
  std::int64_t rest = 0;
  std::int64_t rest_bytes = 0;
  for (const LiveTensors& live : live_tensors(program, timeline)) {
    if (shown == kLargestShown) {
      rest += live.count;
      rest_bytes += live.together_bytes;
      continue;
    }
    ++shown;
    table.row({in_unit(live.together_bytes, unit),
               live.count > 1
                   ? fmt::format("{} × {}", format_count(live.count), in_unit(live.bytes, unit))
                   : "",
               layer_label(live.layer),
               live.tensor,
               live.origin + (live.count > 1 ? ", …" : "")});
  }
  if (rest > 0) {
    table.row(
        {in_unit(rest_bytes, unit), "", fmt::format("… {} more", format_count(rest)), "", ""});
  }
  return table.text();
}

std::string modules(const Program& program,
                    const memory::Timeline& timeline,
                    const ByteUnit& unit,
                    const Style& style) {
  const std::string unit_name(unit.name);
  FittedTable table({{"module", "", Align::kLeft},
                     {"parameters", unit_name},
                     {"activations made", unit_name},
                     {"peak inside", unit_name}},
                    0,
                    style);
  for (const ModuleRow& row :
       module_rows(memory::module_memory(program, timeline), kModuleRowsShown)) {
    std::string label(static_cast<std::size_t>(row.depth) * 2, ' ');
    label += row.label;
    if (row.alike > 1 && row.label.rfind("… ", 0) != 0) {
      label += fmt::format(" ({} alike, each)", row.alike);
    }
    table.row({label,
               in_unit(row.parameters_bytes, unit),
               in_unit(row.activations_bytes, unit),
               in_unit(row.peak_bytes, unit)});
  }
  return table.text();
}

std::string python_elixir(const Program& program) {
  const memory::Occupation found = memory::occupation(program);
  return fmt::format(
      "as Elixir's cuda_memory_profiling counts: param_occ {}, buffer_occ {}, grad_occ {},\n"
      "  activation_occ {}\n",
      format_count(found.param_occ),
      format_count(found.buffer_occ),
      format_count(found.grad_occ),
      format_count(found.activation_occ));
}

}  // namespace

std::string profile_screen(const program::Profile& profile,
                           const memory::TrainingStep& step,
                           const search::RecomputationSavings& savings,
                           const Style& style) {
  const Program& program = profile.program;
  const memory::Timeline& timeline = step.timeline;
  const ByteUnit unit = unit_for(timeline.peak_bytes);
  std::string text = heading(profile);
  text +=
      "\n" + peaks(profile.memory, program.target, step, unit) + peak_operator(program, timeline);
  text += "\n" + categories(timeline, unit);
  text += "\n" + largest(program, timeline, unit, style);
  text += "\n" + modules(program, timeline, unit, style);
  text += "\n" + recomputation_text(savings, program.target, unit);
  text += "\n" + python_elixir(program);
  if (profile.unattributed_operators > 0) {
    text += fmt::format("{} operator calls could not be attributed to a module\n",
                        format_count(profile.unattributed_operators));
  }
  return text;
}

std::string loss_line(const program::Program& program, const std::string& loss) {
  if (program.inputs.empty()) return "";
  return fmt::format("loss: {} of the output and input `{}`{}\n",
                     loss,
                     one_line(program.inputs.back().name),
                     program.inputs.size() == 1
                         ? ", the only one"
                         : fmt::format(", the last of {}: it is the label", program.inputs.size()));
}

}  // namespace elixir::report
