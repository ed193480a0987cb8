// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Turns an error or a warning into text, and into JSON. No other code may do this. The most
// important part, the help, comes last.

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "report/terminal/terminal.h"

namespace elixir::report {

enum class Severity { kError, kWarning, kNote };

struct Diagnostic {
  Severity severity = Severity::kError;
  std::optional<ErrorCode> code;  ///< always present on errors
  std::string message;
  std::optional<SourcePos> where;
  std::vector<std::string> notes;
  std::vector<std::string> help;
};

[[nodiscard]] Diagnostic diagnostic_of(const ErrorInfo& info);

/// `error[EX0203]: …`, ` --> file: /pointer (line n)`, `  = note: …`, `  = help: …`. Ends with a
/// newline.
[[nodiscard]] std::string render(const Diagnostic& diagnostic, const Style& style);

/// {severity, code, message, file, pointer, line, byte_offset, notes, help}. Missing values are
/// null.
[[nodiscard]] Json to_json(const Diagnostic& diagnostic);

}  // namespace elixir::report
