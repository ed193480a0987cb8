// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/units.h"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace elixir {
namespace {

__extension__ typedef unsigned __int128 Wide;

struct Unit {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 9> kUnits{{{"B", 1},
                                      {"kB", 1'000},
                                      {"MB", 1'000'000},
                                      {"GB", 1'000'000'000},
                                      {"TB", 1'000'000'000'000},
                                      {"KiB", 1_KiB},
                                      {"MiB", 1_MiB},
                                      {"GiB", 1_GiB},
                                      {"TiB", 1024 * 1_GiB}}};

/// Three or four significant digits: 1.50, 71.2, 131.3, 768, 1023.
std::string digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  if (value < 999.95 && value != std::floor(value)) return fmt::format("{:.1f}", value);
  return format_count(std::llround(value));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr Wide kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
  std::size_t at = 0;
  Wide whole = 0;
  while (at < text.size() && is_digit(text[at])) {
    whole = whole * 10 + static_cast<unsigned>(text[at++] - '0');
    if (whole > kMax) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  // The fraction is fraction / scale; digits beyond 18 change nothing below a byte of a TiB.
  Wide fraction = 0;
  Wide scale = 1;
  bool has_fraction = false;
  if (at < text.size() && text[at] == '.') {
    const std::size_t first = ++at;
    for (; at < text.size() && is_digit(text[at]); ++at) {
      if (at - first < 18) {
        fraction = fraction * 10 + static_cast<unsigned>(text[at] - '0');
        scale *= 10;
      }
    }
    if (at == first) return std::nullopt;
    has_fraction = true;
  }
  std::string_view name = text.substr(at);
  if (name.empty()) {
    if (has_fraction) return std::nullopt;
    return static_cast<std::int64_t>(whole);
  }
  if (name.front() == ' ') name.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (unit.bytes == 1 && has_fraction) return std::nullopt;
    const Wide factor = static_cast<Wide>(unit.bytes);
    const Wide bytes = whole * factor + fraction * factor / scale;
    if (bytes > kMax) return std::nullopt;
    return static_cast<std::int64_t>(bytes);
  }
  return std::nullopt;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  const std::string sign = bytes < 0 ? "-" : "";
  double value = std::fabs(static_cast<double>(bytes));
  if (value < 1024) return fmt::format("{}{:.0f} B", sign, value);
  std::size_t unit = 0;
  // 1023.5 of a unit would round to 1024: the next unit says it better.
  while (value >= 1023.5 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{}{} {}", sign, digits(value), kNames[unit]);
}

std::string format_ns(double ns) {
  constexpr std::array<std::string_view, 4> kNames{"ns", "µs", "ms", "s"};
  const std::string sign = ns < 0 ? "-" : "";
  double value = std::fabs(ns);
  if (value < 999.5) {
    return value == std::floor(value) ? fmt::format("{}{:.0f} ns", sign, value)
                                      : fmt::format("{}{} ns", sign, digits(value));
  }
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{}{} {}", sign, digits(value), kNames[unit]);
}

std::string format_bytes_per_s(double bytes_per_s) {
  constexpr std::array<std::string_view, 5> kNames{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  const std::string sign = bytes_per_s < 0 ? "-" : "";
  double value = std::fabs(bytes_per_s);
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kNames.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{}{} {}", sign, digits(value), kNames[unit]);
}

std::string format_count(std::int64_t n) {
  std::string text = fmt::format("{}", n);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace elixir
