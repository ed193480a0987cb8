// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/terminal.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace elixir::report {
namespace {

using Variables = std::map<std::string, std::string>;

Style decide(const Variables& variables, bool terminal, ColorChoice choice = ColorChoice::kAuto) {
  return decide_style(choice, terminal, 100, [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Colour, FirstMatchWins) {
  const Variables all{{"FORCE_COLOR", "1"}, {"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}};
  EXPECT_FALSE(decide(all, true, ColorChoice::kNever).color);
  EXPECT_TRUE(decide({{"NO_COLOR", "1"}}, false, ColorChoice::kAlways).color);
  EXPECT_TRUE(decide(all, false).color);
  EXPECT_FALSE(decide({{"NO_COLOR", "1"}, {"CLICOLOR_FORCE", "1"}}, true).color);
  EXPECT_TRUE(decide({{"CLICOLOR_FORCE", "1"}}, false).color);
  EXPECT_FALSE(decide({{"CLICOLOR_FORCE", "0"}}, false).color);
  EXPECT_TRUE(decide({{"TERM", "xterm"}}, true).color);
  EXPECT_TRUE(decide({}, true).color);
  EXPECT_FALSE(decide({{"TERM", "dumb"}}, true).color);
  EXPECT_FALSE(decide({}, false).color);
}

TEST(Colour, EmptyVariablesDoNotCount) {
  EXPECT_TRUE(decide({{"FORCE_COLOR", ""}, {"NO_COLOR", ""}, {"CLICOLOR_FORCE", ""}}, true).color);
  EXPECT_FALSE(decide({{"FORCE_COLOR", ""}}, false).color);
}

TEST(Utf8, ComesFromTheFirstLocaleVariableThatIsSet) {
  EXPECT_TRUE(decide({{"LANG", "en_GB.UTF-8"}}, true).utf8);
  EXPECT_TRUE(decide({{"LC_CTYPE", "C.utf8"}, {"LANG", "C"}}, true).utf8);
  EXPECT_FALSE(decide({{"LC_ALL", "C"}, {"LANG", "en_GB.UTF-8"}}, true).utf8);
  EXPECT_TRUE(decide({{"LC_ALL", ""}, {"LANG", "en_GB.UTF-8"}}, true).utf8);
  EXPECT_FALSE(decide({}, true).utf8);
}

TEST(Style, UnknownWidthIsEighty) {
  EXPECT_EQ(decide_style(ColorChoice::kAuto, true, 0, [](const char*) { return nullptr; }).columns,
            80);
  EXPECT_EQ(decide({}, true).columns, 100);
}

TEST(Paint, LeavesPlainStreamsAlone) {
  Style style;
  EXPECT_EQ(paint("x", Paint::kRed, style), "x");
  style.color = true;
  EXPECT_EQ(paint("x", Paint::kRed, style), "\x1b[1;31mx\x1b[0m");
  EXPECT_EQ(paint("x", Paint::kPlain, style), "x");
}

TEST(Fit, ReplacesWhatAsciiStreamsCannotShow) {
  EXPECT_EQ(fit("412 ± 2 µs → 3 × 4 … 日", Style{}), "412 +- 2 us -> 3 x 4 ... ?");
  Style utf8;
  utf8.utf8 = true;
  EXPECT_EQ(fit("412 ± 2 µs → 日", utf8), "412 ± 2 µs → 日");
}

TEST(Fit, EscapesControlsAndBrokenUtf8) {
  Style style;
  style.utf8 = true;
  EXPECT_EQ(fit("a\tb\n", style), "a\tb\n");
  EXPECT_EQ(fit("\x1b[31m\x7f", style), "\\x1b[31m\\x7f");
  EXPECT_EQ(fit("\xc2\x9b"
                "2J",
                style),
            "\\xc2\\x9b2J");
  EXPECT_EQ(fit("\xff\xc3", style), "??");
  EXPECT_EQ(fit("\xc0\xaf", style), "??");
  EXPECT_EQ(fit(std::string("\0", 1), style), "\\x00");
}

TEST(DisplayWidth, CountsCodePoints) {
  EXPECT_EQ(display_width("µs"), 2U);
  EXPECT_EQ(display_width(""), 0U);
}

}  // namespace
}  // namespace elixir::report
