// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>

namespace elixir {
namespace {

__extension__ typedef unsigned __int128 Wide;

/// A unit with its value in base units (bytes, nanoseconds, or a count).
struct Unit {
  std::string_view name;
  std::int64_t base;
};
constexpr std::array<Unit, 10> kByteUnits{{{"", 1},
                                           {"B", 1},
                                           {"kB", 1'000},
                                           {"MB", 1'000'000},
                                           {"GB", 1'000'000'000},
                                           {"TB", 1'000'000'000'000},
                                           {"KiB", 1_KiB},
                                           {"MiB", 1_MiB},
                                           {"GiB", 1_GiB},
                                           {"TiB", 1024 * 1_GiB}}};
constexpr std::array<Unit, 7> kTimeUnits{{{"ns", 1},
                                          {"us", 1'000},
                                          {"µs", 1'000},
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"min", 60'000'000'000},
                                          {"h", 3'600'000'000'000}}};
constexpr std::array<Unit, 5> kCountUnits{
    {{"", 1}, {"k", 1'000}, {"M", 1'000'000}, {"B", 1'000'000'000}, {"T", 1'000'000'000'000}}};

std::string digits(double value);

/// "412.3 ms": `value` is in the first unit, each is a thousand of the one before.
template <std::size_t kUnits>
std::string in_si_unit(double value, const std::array<std::string_view, kUnits>& names) {
  std::size_t unit = 0;
  while (value >= 999.95 && unit + 1 < kUnits) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{} {}", digits(value), names[unit]);
}

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

/// Parses a decimal number, one optional space and one of `units`. Fractions are rounded down, but
/// a fraction of an indivisible unit is refused.
std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units) {
  constexpr Wide kMax = static_cast<Wide>(std::numeric_limits<std::int64_t>::max());
  std::size_t at = 0;
  Wide whole = 0;
  while (at < text.size() && is_digit(text[at])) {
    whole = whole * 10 + static_cast<unsigned>(text[at++] - '0');
    if (whole > kMax) return std::nullopt;
  }
  if (at == 0) return std::nullopt;
  // The fraction is fraction / scale. Digits beyond 18 change less than a byte of a TiB.
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
  if (!name.empty() && name.front() == ' ') {
    name.remove_prefix(1);
    if (name.empty()) return std::nullopt;
  }
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (unit.base == 1 && has_fraction) return std::nullopt;
    const Wide factor = static_cast<Wide>(unit.base);
    const Wide value = whole * factor + fraction * factor / scale;
    if (value > kMax) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  return parse_with_unit(text, kByteUnits);
}

std::optional<std::vector<std::int64_t>> parse_bytes_list(std::string_view text) {
  constexpr std::string_view kNumber = "0123456789.";
  const std::string_view last = text.substr(text.rfind(',') + 1);
  const std::size_t unit_at = last.find_last_of(kNumber) + 1;
  const std::string unit(last.substr(unit_at));
  std::vector<std::int64_t> sizes;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string part(text.substr(begin, end - begin));
    if (part.find_first_not_of(kNumber) == std::string::npos) part += unit;
    const auto size = parse_bytes(part);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
    begin = end + 1;
  }
  return sizes;
}

std::string expected_bytes(std::string_view text) {
  constexpr std::string_view kLetters = "KMGTkmgt";
  if (!text.empty() && kLetters.find(text.back()) != std::string_view::npos) {
    const std::string number(text.substr(0, text.size() - 1));
    if (parse_bytes(number + "MB")) {
      const char letter = static_cast<char>(text.back() & ~0x20);
      return fmt::format(
          "{0}{1}iB (1024) or {0}{2}B (1000)", number, letter, letter == 'K' ? 'k' : letter);
    }
  }
  return "a size such as 24GiB, 80GB, 1.5 MiB or a number of bytes";
}

std::optional<std::int64_t> parse_duration_ns(std::string_view text) {
  return parse_with_unit(text, kTimeUnits);
}

std::optional<std::int64_t> parse_count(std::string_view text) {
  return parse_with_unit(text, kCountUnits);
}

std::optional<double> parse_percent(std::string_view text) {
  constexpr std::array<Unit, 1> kMillionths{{{"%", 1'000'000}}};
  constexpr std::int64_t kLargest = 1'000'000'000'000;
  const auto millionths = parse_with_unit(text, kMillionths);
  if (!millionths || *millionths > kLargest) return std::nullopt;
  return static_cast<double>(*millionths) / 1e6;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  const std::string sign = bytes < 0 ? "-" : "";
  double value = std::fabs(static_cast<double>(bytes));
  if (value < 1024) return fmt::format("{}{:.0f} B", sign, value);
  std::size_t unit = 0;
  // 1023.5 of a unit would round to 1024, so use the next unit.
  while (value >= 1023.5 && unit + 1 < kNames.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{}{} {}", sign, digits(value), kNames[unit]);
}

std::string format_ns(double ns) {
  const std::string sign = ns < 0 ? "-" : "";
  double value = std::fabs(ns);
  if (value < 999.5) {
    return value == std::floor(value) ? fmt::format("{}{:.0f} ns", sign, value)
                                      : fmt::format("{}{} ns", sign, digits(value));
  }
  return sign + in_si_unit(value, std::array<std::string_view, 4>{"ns", "µs", "ms", "s"});
}

std::string format_bytes_per_s(double bytes_per_s) {
  constexpr std::array<std::string_view, 5> kNames{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return (bytes_per_s < 0 ? "-" : "") + in_si_unit(std::fabs(bytes_per_s), kNames);
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
