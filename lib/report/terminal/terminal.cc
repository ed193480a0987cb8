// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "core/utf8.h"

namespace elixir::report {
namespace {

bool is_set(const char* value) {
  return value != nullptr && *value != '\0';
}

bool names_utf8(std::string_view locale) {
  std::string lower;
  for (const char c : locale) {
    if (c != '-') lower += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower.find("utf8") != std::string::npos;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kAscii{{{"µ", "u"},
                                                                               {"±", "+-"},
                                                                               {"→", "->"},
                                                                               {"×", "x"},
                                                                               {"…", "..."},
                                                                               {"–", "-"},
                                                                               {"≤", "<="},
                                                                               {"≥", ">="}}};

}  // namespace

Style decide_style(ColorChoice choice,
                   bool is_terminal,
                   int columns,
                   const Environment& environment) {
  Style style;
  style.terminal = is_terminal;
  style.columns = columns > 0 ? columns : 80;
  const char* clicolor_force = environment("CLICOLOR_FORCE");
  const char* term = environment("TERM");
  if (choice != ColorChoice::kAuto) {
    style.color = choice == ColorChoice::kAlways;
  } else {
    const bool suits_terminal =
        is_terminal && !(term != nullptr && std::string_view(term) == "dumb");
    const bool forced_by_clicolor =
        is_set(clicolor_force) && std::string_view(clicolor_force) != "0";
    const bool refused = is_set(environment("NO_COLOR"));
    style.color =
        is_set(environment("FORCE_COLOR")) || (!refused && (forced_by_clicolor || suits_terminal));
  }
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = environment(name);
    if (!is_set(value)) continue;
    style.utf8 = names_utf8(value);
    break;
  }
  return style;
}

Style style_of(int descriptor, ColorChoice choice) {
  const bool is_terminal = ::isatty(descriptor) == 1;
  struct winsize size {};
  const bool has_size = is_terminal && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0;
  return decide_style(choice, is_terminal, has_size ? size.ws_col : 0, [](const char* name) {
    return std::getenv(name);
  });
}

std::string paint(std::string_view text, Paint paint, const Style& style) {
  if (!style.color || paint == Paint::kPlain) return std::string(text);
  const std::string_view code = paint == Paint::kBold     ? "1"
                                : paint == Paint::kRed    ? "1;31"
                                : paint == Paint::kYellow ? "1;33"
                                : paint == Paint::kGreen  ? "1;32"
                                                          : "1;36";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string fit(std::string_view text, const Style& style) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_bytes(text);
    const std::string_view piece = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(piece.size());
    const auto lead = static_cast<unsigned char>(piece[0]);
    // C1 controls (U+0080 to U+009F) control terminals too.
    const bool is_control =
        (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f ||
        (lead == 0xc2 && length == 2 && static_cast<unsigned char>(piece[1]) < 0xa0);
    if (length == 0) {
      result += '?';
    } else if (is_control) {
      for (const char c : piece) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else if (length > 1 && !style.utf8) {
      const auto* known = std::find_if(
          kAscii.begin(), kAscii.end(), [&](const auto& entry) { return entry.first == piece; });
      result += known != kAscii.end() ? known->second : std::string_view("?");
    } else {
      result += piece;
    }
  }
  return result;
}

std::string one_line(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else {
      result += c;
    }
  }
  return result;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace elixir::report
