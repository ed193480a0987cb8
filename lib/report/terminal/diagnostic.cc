// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/diagnostic.h"

#include <string_view>

#include <fmt/format.h>

namespace elixir::report {
namespace {

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

Paint paint_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Paint::kRed;
    case Severity::kWarning:
      return Paint::kYellow;
    case Severity::kNote:
      return Paint::kCyan;
  }
  return Paint::kRed;
}

std::string place_of(const SourcePos& where) {
  std::string text = where.file;
  if (!where.pointer.empty()) text += (text.empty() ? "" : ": ") + where.pointer;
  if (where.line) text += fmt::format(" (line {})", *where.line);
  if (where.byte_offset && !where.line) text += fmt::format(" (byte {})", *where.byte_offset);
  return text;
}

/// A fact with its label. Further lines are indented below the first.
std::string labelled(std::string_view label, std::string_view text, const Style& style) {
  const std::string lead = fmt::format("  = {}: ", label);
  std::string result = "  = " + paint(label, Paint::kBold, style) + ": ";
  for (const char c : fit(text, style)) {
    result += c;
    if (c == '\n') result.append(lead.size(), ' ');
  }
  return result + '\n';
}

}  // namespace

Diagnostic diagnostic_of(const ErrorInfo& info) {
  return {Severity::kError, info.code, info.message, info.where, info.notes, info.help};
}

std::string render(const Diagnostic& diagnostic, const Style& style) {
  std::string head(name_of(diagnostic.severity));
  if (diagnostic.code) head += "[" + code_text(*diagnostic.code) + "]";
  std::string text = paint(head, paint_of(diagnostic.severity), style) + ": " +
                     fit(diagnostic.message, style) + '\n';
  if (diagnostic.where) {
    const std::string place = place_of(*diagnostic.where);
    if (!place.empty()) text += " --> " + fit(place, style) + '\n';
  }
  for (const std::string& note : diagnostic.notes) text += labelled("note", note, style);
  for (const std::string& help : diagnostic.help) text += labelled("help", help, style);
  return text;
}

Json to_json(const Diagnostic& diagnostic) {
  const SourcePos where = diagnostic.where.value_or(SourcePos{});
  Json json = Json::object();
  json["severity"] = name_of(diagnostic.severity);
  json["code"] = diagnostic.code ? Json(code_text(*diagnostic.code)) : Json(nullptr);
  json["message"] = diagnostic.message;
  json["file"] = text_or_null(where.file);
  json["pointer"] = text_or_null(where.pointer);
  json["line"] = where.line ? Json(*where.line) : Json(nullptr);
  json["byte_offset"] = where.byte_offset ? Json(*where.byte_offset) : Json(nullptr);
  json["notes"] = diagnostic.notes;
  json["help"] = diagnostic.help;
  return json;
}

}  // namespace elixir::report
