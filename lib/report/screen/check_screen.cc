// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/check_screen.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "report/screen/alike.h"
#include "report/terminal/table.h"
#include "report/terminal/terminal.h"

namespace elixir::report {
namespace {

using check::Measure;

std::string_view unit_name(Measure measure) {
  switch (measure) {
    case Measure::kBytes:
      return "bytes";
    case Measure::kNanoseconds:
      return "ns";
    case Measure::kCount:
      return "count";
  }
  return "";
}

/// "332,398,592 bytes", "15.4 ms".
std::string exact(Measure measure, std::int64_t value) {
  if (measure == Measure::kCount) return format_count(value);
  // More digits of a time would not be useful.
  if (measure == Measure::kNanoseconds) return format_ns(static_cast<double>(value));
  return fmt::format("{} {}", format_count(value), unit_name(measure));
}

std::string value_cell(const check::Check& check, const std::optional<std::int64_t>& value) {
  return value ? check::format_value(check::info_of(check.quantity).measure, *value) : "-";
}

std::string used_cell(const check::Check& check) {
  if (!check.value || !check.limit || *check.limit == 0) return "";
  return fmt::format("{:.1f}",
                     100.0 * static_cast<double>(*check.value) / static_cast<double>(*check.limit));
}

std::string checks_table(const check::FileReport& file) {
  Table table({{"", "", Align::kLeft},
               {"value", ""},
               {"limit", ""},
               {"used", "%"},
               {"result", "", Align::kLeft}});
  for (const check::Check& check : file.checks) {
    table.row({"  " + title_of(check),
               value_cell(check, check.value),
               value_cell(check, check.limit),
               used_cell(check),
               result_of(check)});
  }
  return table.text();
}

/// How certain a profile's peaks are.
std::string label_line(const check::FileReport& file) {
  constexpr std::size_t kMostNamed = 8;
  if (file.kind != check::CheckedDocument::Kind::kProfile) return "";
  if (!file.certainty) return fmt::format("  {}\n", check::why_no_certainty(file.target));
  std::string text = fmt::format("  peak allocated is {}\n", text_of(*file.certainty));
  const auto list = [&text](const char* label,
                            const std::vector<program::LabelledOperator>& operators) {
    if (operators.empty()) return;
    text += fmt::format("  {}: {}\n", label, one_line(program::list_of(operators, kMostNamed)));
  };
  list("modelled", file.certainty->modelled_operators);
  list("measured", file.certainty->measured_operators);
  for (const std::string& reason : file.certainty->reasons) {
    text += fmt::format("  {}\n", one_line(reason));
  }
  return text;
}

/// "+28.7 %, at most +2 %" for a limit over the baseline; empty for other limits.
std::string grown_by(const check::Check& check) {
  if (!check.is_increase() || !check.value || !check.baseline_value) return "";
  if (*check.baseline_value == 0)
    return fmt::format("at most +{:.6g} %", *check.max_increase_percent);
  return fmt::format("{:+.3g} %, at most +{:.6g} %",
                     100.0 * static_cast<double>(*check.value - *check.baseline_value) /
                         static_cast<double>(*check.baseline_value),
                     *check.max_increase_percent);
}

std::string signed_value(Measure measure, std::int64_t value) {
  return (value >= 0 ? "+" : "") + check::format_value(measure, value);
}

std::string culprits_table(const check::Culprits& culprits) {
  const auto cell = [&](std::int64_t value) {
    return check::format_value(culprits.measure, value);
  };
  std::string text = fmt::format("  {}:\n", heading_of(culprits));
  if (!culprits.grown && !culprits.shrunk) {
    Table table({{"", ""}, {"", "", Align::kLeft}});
    for (const check::Culprit& culprit : culprits.entries) {
      table.row({"    " + cell(culprit.value), name_of_alike(culprit.name, culprit.count)});
    }
    const std::string lines = table.text();
    return text + lines.substr(lines.find('\n') + 1);
  }
  Table table({{"change", ""}, {"before", ""}, {"now", ""}, {"", "", Align::kLeft}});
  for (const check::Culprit& culprit : culprits.entries) {
    const std::int64_t before = culprit.before.value_or(0);
    table.row({"    " + signed_value(culprits.measure, culprit.value - before),
               cell(before),
               cell(culprit.value),
               name_of_alike(culprit.name, culprit.count)});
  }
  return text + table.text();
}

Json check_json(const check::Check& check) {
  const check::QuantityInfo& info = check::info_of(check.quantity);
  const SourcePos& place = check.origin.place;
  const auto percent = check.overshoot_percent();
  return {
      {"check", check.key()},
      {"quantity", info.key},
      {"unit", unit_name(info.measure)},
      {"verdict", name_of(check.verdict)},
      {"value", value_or_null(check.value)},
      {"limit", value_or_null(check.limit)},
      {"overshoot",
       check.verdict == check::Verdict::kOver ? Json(check.overshoot()) : Json(nullptr)},
      {"overshoot_percent", percent ? Json(*percent) : Json(nullptr)},
      {"max_increase_percent",
       check.max_increase_percent ? Json(*check.max_increase_percent) : Json(nullptr)},
      {"baseline_value", value_or_null(check.baseline_value)},
      {"reason", text_or_null(check.reason)},
      {"origin",
       {{"flag", text_or_null(check.origin.flag)},
        {"file", text_or_null(place.file)},
        {"pointer", text_or_null(place.pointer)},
        {"line", place.line ? Json(*place.line) : Json(nullptr)}}},
  };
}

Json culprits_json(const check::Culprits& culprits) {
  Json entries = Json::array();
  for (const check::Culprit& culprit : culprits.entries) {
    entries.push_back({{"name", culprit.name},
                       {"count", culprit.count},
                       {"value", culprit.value},
                       {"baseline_value", value_or_null(culprit.before)}});
  }
  return {{"what", culprits.what},
          {"share", culprits.share},
          {"unit", unit_name(culprits.measure)},
          {"grown", culprits.grown},
          {"shrunk", culprits.shrunk},
          {"entries", std::move(entries)}};
}

}  // namespace

std::string title_of(const check::Check& check) {
  const std::string_view title = check::info_of(check.quantity).title;
  if (!check.is_increase()) return std::string(title);
  return fmt::format("{} over its baseline", title);
}

std::string result_of(const check::Check& check) {
  const std::string grown = grown_by(check);
  switch (check.verdict) {
    case check::Verdict::kWithin:
      return grown.empty() ? "ok" : fmt::format("ok: {}", grown);
    case check::Verdict::kOver: {
      const auto percent = check.overshoot_percent();
      return fmt::format("{}over by {}{}",
                         grown.empty() ? "" : grown + ": ",
                         exact(check::info_of(check.quantity).measure, check.overshoot()),
                         percent ? fmt::format(" ({:.3g} %)", *percent) : "");
    }
    case check::Verdict::kNotKnown:
      return "not known: " + check.reason;
    case check::Verdict::kWaived:
      return "waived: " + check.reason;
  }
  return "";
}

std::string amounts_of(const check::Check& check) {
  const Measure measure = check::info_of(check.quantity).measure;
  const auto text = [measure](const std::optional<std::int64_t>& value) {
    return value ? check::format_value(measure, *value) : "not known";
  };
  std::string result = text(check.value);
  if (check.limit) result += fmt::format(" of at most {}", text(check.limit));
  if (check.is_increase() && check.baseline_value) {
    result +=
        fmt::format(" ({} + {:.6g} %)", text(check.baseline_value), *check.max_increase_percent);
  }
  return result;
}

std::string origin_of(const check::Check& check) {
  if (!check.origin.flag.empty()) return check.origin.flag;
  const SourcePos& place = check.origin.place;
  std::string text = one_line(fmt::format("{}: {}", place.file, place.pointer));
  if (place.line) text += fmt::format(" (line {})", *place.line);
  return text;
}

std::string heading_of(const check::Culprits& culprits) {
  if (culprits.what == "parts") {
    return culprits.shrunk ? "what shrank most" : culprits.grown ? "what grew most" : "at the peak";
  }
  if (culprits.shrunk) {
    return fmt::format("{} that shrank most, {}", culprits.what, culprits.share);
  }
  if (culprits.grown) return fmt::format("{} that grew most, {}", culprits.what, culprits.share);
  return fmt::format("largest {}, {}", culprits.what, culprits.share);
}

std::string text_of(const check::Culprit& culprit, Measure measure) {
  const std::string now = check::format_value(measure, culprit.value);
  const std::string name = name_of_alike(culprit.name, culprit.count);
  if (!culprit.before) return fmt::format("{} {}", name, now);
  return fmt::format(
      "{} {} (now {})", name, signed_value(measure, culprit.value - *culprit.before), now);
}

std::string verdict_of(const check::CheckReport& report) {
  const auto plural = [](int count, std::string_view word) {
    return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
  };
  const auto files = static_cast<int>(report.files.size());
  const std::string waived = report.waived == 0 ? "" : fmt::format(", {} waived", report.waived);
  if (report.failed == 0) {
    return fmt::format(
        "within budget: {} of {}{}", plural(report.within, "check"), plural(files, "file"), waived);
  }
  const auto failed_files =
      std::count_if(report.files.begin(), report.files.end(), [](const check::FileReport& file) {
        return file.failed();
      });
  return fmt::format("over budget: {} of {} failed, in {} of {}{}",
                     report.failed,
                     plural(report.failed + report.within, "check"),
                     failed_files,
                     plural(files, "file"),
                     waived);
}

std::string check_screen(const check::CheckReport& report) {
  std::string text;
  for (const check::FileReport& file : report.files) {
    text += fmt::format(
        "{}  ({} for {}", one_line(file.path), name_of(file.kind), one_line(file.target));
    if (!file.baseline_path.empty()) {
      text += fmt::format(", baseline {}", one_line(file.baseline_path));
    }
    text += ")\n" + label_line(file) + checks_table(file);
    for (const check::Culprits& culprits : file.culprits) text += culprits_table(culprits);
    text += '\n';
  }
  return text + verdict_of(report) + '\n';
}

Json to_json(const check::CheckReport& report) {
  Json files = Json::array();
  for (const check::FileReport& file : report.files) {
    Json checks = Json::array();
    for (const check::Check& check : file.checks) checks.push_back(check_json(check));
    Json responsible = Json::array();
    for (const check::Culprits& culprits : file.culprits)
      responsible.push_back(culprits_json(culprits));
    files.push_back({{"file", file.path},
                     {"kind", name_of(file.kind)},
                     {"target", file.target},
                     {"baseline", text_or_null(file.baseline_path)},
                     {"certainty", file.certainty ? to_json(*file.certainty) : Json(nullptr)},
                     {"failed", file.failed()},
                     {"checks", std::move(checks)},
                     {"responsible", std::move(responsible)}});
  }
  return {{"verdict", report.failed == 0 ? "within budget" : "over budget"},
          {"within", report.within},
          {"failed", report.failed},
          {"waived", report.waived},
          {"files", std::move(files)}};
}

}  // namespace elixir::report
