// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/ci/github.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files.h"
#include "report/screen/check_screen.h"
#include "report/terminal/terminal.h"

namespace elixir::report {
namespace {

constexpr std::size_t kLargestSummaryBytes = 1 << 20;

/// Escapes the data of a workflow command.
std::string escape_data(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '%') {
      result += "%25";
    } else if (c == '\r') {
      result += "%0D";
    } else if (c == '\n') {
      result += "%0A";
    } else {
      result += c;
    }
  }
  return result;
}

/// Escapes a property of a workflow command, including the separators.
std::string escape_property(std::string_view text) {
  std::string result;
  for (const char c : escape_data(text)) {
    if (c == ':') {
      result += "%3A";
    } else if (c == ',') {
      result += "%2C";
    } else {
      result += c;
    }
  }
  return result;
}

struct Annotation {
  std::string_view level;  ///< "error", "warning"
  std::string file;
  std::optional<int> line;
  std::string title, message;
};

std::string command(const Annotation& annotation) {
  return fmt::format("::{} file={}{},title={}::{}\n",
                     annotation.level,
                     escape_property(annotation.file),
                     annotation.line ? fmt::format(",line={}", *annotation.line) : "",
                     escape_property(annotation.title),
                     escape_data(annotation.message));
}

Annotation annotation_of(const check::FileReport& file, const check::Check& check) {
  const bool in_budget = check.origin.flag.empty();
  Annotation annotation;
  annotation.level = check.failed() ? "error" : "warning";
  annotation.file = in_budget ? check.origin.place.file : file.path;
  if (in_budget) annotation.line = check.origin.place.line;
  const std::string path = one_line(file.path);
  if (check.verdict == check::Verdict::kOver) {
    annotation.title = fmt::format("{}: {} is over budget", path, title_of(check));
    annotation.message = fmt::format("{}: {}, {}", path, amounts_of(check), result_of(check));
    for (const check::Culprits& culprits : file.culprits) {
      std::vector<std::string> entries;
      for (const check::Culprit& culprit : culprits.entries) {
        entries.push_back(text_of(culprit, culprits.measure));
      }
      annotation.message += fmt::format("\n{}: {}", heading_of(culprits), fmt::join(entries, ", "));
    }
  } else {
    const bool waived = check.verdict == check::Verdict::kWaived;
    annotation.title = fmt::format(
        "{}: {} {}", path, title_of(check), waived ? "was not checked" : "is not known");
    annotation.message = fmt::format("{}: {}", path, check.reason);
  }
  return annotation;
}

std::string commands(const std::vector<Annotation>& annotations) {
  std::string text;
  for (std::size_t i = 0; i < annotations.size(); ++i) {
    if (i + 1 < kMostAnnotations || annotations.size() == kMostAnnotations) {
      text += command(annotations[i]);
      continue;
    }
    Annotation rest = annotations[i];
    rest.title = fmt::format("{} more", annotations.size() - i);
    rest.message.clear();
    for (std::size_t j = i; j < annotations.size(); ++j) {
      rest.message += (j > i ? "\n" : "") + annotations[j].title;
    }
    return text + command(rest);
  }
  return text;
}

/// Escapes text for a Markdown table or list: nothing in it formats, links or mentions.
std::string markdown(std::string_view text) {
  std::string result;
  for (const char c : one_line(text)) {
    if (std::string_view("\\`*_{}[]()#+!|<>&~@$").find(c) != std::string_view::npos) {
      result += fmt::format("&#{};", static_cast<int>(static_cast<unsigned char>(c)));
    } else {
      result += c;
    }
  }
  return result;
}

std::string summary_of(const check::FileReport& file) {
  std::string text = fmt::format(
      "\n**{}** ({} for {}{})\n\n",
      markdown(file.path),
      name_of(file.kind),
      markdown(file.target),
      file.baseline_path.empty() ? "" : fmt::format(", baseline {}", markdown(file.baseline_path)));
  text += "| | check | value | limit | result |\n| --- | --- | ---: | ---: | --- |\n";
  for (const check::Check& check : file.checks) {
    const check::Measure measure = check::info_of(check.quantity).measure;
    const auto cell = [measure](const std::optional<std::int64_t>& value) {
      return value ? check::format_value(measure, *value) : "";
    };
    const std::string_view mark = check.failed()                             ? "❌"
                                  : check.verdict == check::Verdict::kWaived ? "➖"
                                                                             : "✅";
    text += fmt::format("| {} | {} | {} | {} | {} |\n",
                        mark,
                        title_of(check),
                        cell(check.value),
                        cell(check.limit),
                        markdown(result_of(check)));
  }
  for (const check::Culprits& culprits : file.culprits) {
    text += fmt::format("\n{}:\n\n", heading_of(culprits));
    for (const check::Culprit& culprit : culprits.entries) {
      text += fmt::format("- {}\n", markdown(text_of(culprit, culprits.measure)));
    }
  }
  return text;
}

}  // namespace

std::string github_annotations(const check::CheckReport& report) {
  std::vector<Annotation> errors;
  std::vector<Annotation> warnings;
  for (const check::FileReport& file : report.files) {
    for (const check::Check& check : file.checks) {
      if (check.failed()) errors.push_back(annotation_of(file, check));
      // If another document answers a limit, nobody needs to act.
      const bool lacks_baseline = check.is_increase() && check.verdict == check::Verdict::kWaived;
      if (lacks_baseline) warnings.push_back(annotation_of(file, check));
    }
  }
  return commands(errors) + commands(warnings);
}

std::string github_inert(std::string_view text) {
  // Safe as a token, because no text can contain its own hash.
  const std::string token = sha256_hex(text);
  return fmt::format("::stop-commands::{}\n{}::{}::\n", token, text, token);
}

std::string github_summary(const check::CheckReport& report) {
  std::string text = fmt::format("### elixir-check: {}\n", verdict_of(report));
  for (const check::FileReport& file : report.files) {
    const std::string part = summary_of(file);
    constexpr std::string_view kCut = "\n(more in the log)\n";
    if (text.size() + part.size() + kCut.size() > kLargestSummaryBytes) return text.append(kCut);
    text += part;
  }
  return text;
}

}  // namespace elixir::report
