// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/diagnostic.h"

#include <gtest/gtest.h>

namespace elixir::report {
namespace {

Diagnostic full() {
  Diagnostic diagnostic;
  diagnostic.code = ErrorCode::kOutputExists;
  diagnostic.message = "chunk size 24 MiB is smaller than the largest parameter (150 MiB)";
  diagnostic.where = SourcePos{"plan.json", "/chunks/size_bytes", 14, 300};
  diagnostic.notes = {"parameter `lm_head.weight` has 78,643,200 bf16 elements"};
  diagnostic.help = {"use 150 MiB or more"};
  return diagnostic;
}

TEST(Render, ShowsCodePlaceNotesAndHelp) {
  EXPECT_EQ(render(full(), Style{}),
            "error[EX0203]: chunk size 24 MiB is smaller than the largest parameter (150 MiB)\n"
            " --> plan.json: /chunks/size_bytes (line 14)\n"
            "  = note: parameter `lm_head.weight` has 78,643,200 bf16 elements\n"
            "  = help: use 150 MiB or more\n");
}

TEST(Render, LeavesOutWhatIsUnknown) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kWarning;
  diagnostic.message = "traced for evaluation";
  EXPECT_EQ(render(diagnostic, Style{}), "warning: traced for evaluation\n");
  diagnostic.where = SourcePos{"model.pt", "", std::nullopt, 7340032};
  EXPECT_EQ(render(diagnostic, Style{}),
            "warning: traced for evaluation\n --> model.pt (byte 7340032)\n");
  diagnostic.where = SourcePos{};
  EXPECT_EQ(render(diagnostic, Style{}), "warning: traced for evaluation\n");
}

TEST(Render, IndentsFurtherLines) {
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kNote;
  diagnostic.message = "m";
  diagnostic.notes = {"a\nb"};
  EXPECT_EQ(render(diagnostic, Style{}), "note: m\n  = note: a\n          b\n");
}

TEST(Render, ColoursHeadAndLabels) {
  Style style;
  style.color = true;
  EXPECT_EQ(render(full(), style).substr(0, 28), "\x1b[1;31merror[EX0203]\x1b[0m: ch");
}

TEST(Render, DefusesControlCharacters) {
  Diagnostic diagnostic;
  diagnostic.code = ErrorCode::kFileNotFound;
  diagnostic.message = "`\x1b[2J` does not exist";
  diagnostic.where = SourcePos{"\x07", "/\r", std::nullopt, std::nullopt};
  EXPECT_EQ(render(diagnostic, Style{}),
            "error[EX0201]: `\\x1b[2J` does not exist\n --> \\x07: /\\x0d\n");
}

TEST(JsonTwin, HasEveryFieldAlways) {
  EXPECT_EQ(to_json(full()).dump(),
            R"({"severity":"error","code":"EX0203","message":)"
            R"j("chunk size 24 MiB is smaller than the largest parameter (150 MiB)",)j"
            R"("file":"plan.json","pointer":"/chunks/size_bytes","line":14,"byte_offset":300,)"
            R"("notes":["parameter `lm_head.weight` has 78,643,200 bf16 elements"],)"
            R"("help":["use 150 MiB or more"]})");
  Diagnostic diagnostic;
  diagnostic.severity = Severity::kNote;
  diagnostic.message = "m";
  EXPECT_EQ(to_json(diagnostic).dump(),
            R"({"severity":"note","code":null,"message":"m","file":null,"pointer":null,)"
            R"("line":null,"byte_offset":null,"notes":[],"help":[]})");
}

TEST(DiagnosticOf, KeepsEverything) {
  ErrorInfo info;
  info.code = ErrorCode::kDiskFull;
  info.message = "m";
  info.notes = {"n"};
  info.help = {"h"};
  info.where = SourcePos{"f", "", 3, std::nullopt};
  EXPECT_EQ(render(diagnostic_of(info), Style{}),
            "error[EX0702]: m\n --> f (line 3)\n  = note: n\n  = help: h\n");
}

}  // namespace
}  // namespace elixir::report
