// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// lib/report/terminal: how text is shown: styles, tables, progress, diagnostics.
//
// What a stream can show: decided once per stream, from flags, environment and the stream itself.
// Nothing else in the project asks isatty() or reads NO_COLOR.

#include <functional>
#include <string>
#include <string_view>

namespace elixir::report {

enum class ColorChoice { kAuto, kAlways, kNever };

struct Style {
  bool terminal = false;
  bool color = false;
  bool utf8 = false;
  int columns = 80;  ///< width of the terminal; 80 elsewhere
};

/// The value of an environment variable, or nullptr when it is unset.
using Environment = std::function<const char*(const char*)>;

/// Decides colour by the first rule that matches: `choice`; FORCE_COLOR not empty (on); NO_COLOR
/// not empty (off); CLICOLOR_FORCE not empty and not "0" (on); a terminal whose TERM is not "dumb"
/// (on). Decides UTF-8 by the first of LC_ALL, LC_CTYPE, LANG that is not empty.
[[nodiscard]] Style decide_style(ColorChoice choice,
                                 bool is_terminal,
                                 int columns,
                                 const Environment& environment);
/// Same for a file descriptor of this process.
[[nodiscard]] Style style_of(int descriptor, ColorChoice choice);

enum class Paint { kPlain, kBold, kRed, kYellow, kGreen, kCyan };
/// `text` in a colour, if the stream has colours.
[[nodiscard]] std::string paint(std::string_view text, Paint paint, const Style& style);

/// Makes text fit the stream. Without UTF-8, `µ ± → × …` become `u +- -> x ...`. Control characters
/// other than newline and tab (a hostile name in a message) become `\xNN`. Invalid UTF-8 becomes
/// `?`.
[[nodiscard]] std::string fit(std::string_view text, const Style& style);

/// Prepares a name from a document for one line: newlines and tabs become `\n` and `\t`.
[[nodiscard]] std::string one_line(std::string_view text);

/// The columns of UTF-8 text, one per code point.
[[nodiscard]] std::size_t display_width(std::string_view text);

}  // namespace elixir::report
