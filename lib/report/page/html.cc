// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/page/html.h"

#include <fmt/format.h>

#include "core/utf8.h"

namespace elixir::report {
namespace {

/// The entity of a character with a meaning in HTML; empty for other characters.
std::string_view entity_of(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return "";
  }
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : well_formed_utf8(text)) {
    const std::string_view entity = entity_of(c);
    if (!entity.empty()) {
      result += entity;
    } else if (is_control(c)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string shortened(std::string_view name) {
  constexpr std::size_t kMost = 200;
  if (name.size() <= kMost) return std::string(name);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;
  return std::string(name.substr(0, end)) + "…";
}

std::string script_json(const Json& value) {
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    // Outside of strings, JSON contains none of the three.
    if (c == '<' || c == '>' || c == '&') {
      result += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace elixir::report
