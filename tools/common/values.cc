// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "tools/common/values.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace elixir::tools {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Appends the values of one list item. Returns what is wrong with it.
std::optional<ListFault> append_item(std::string_view item, std::vector<std::int64_t>& values) {
  const std::size_t dash = item.find('-');
  if (dash == std::string_view::npos) {
    const auto value = parse_integer(item);
    if (!value) return ListFault::kMalformed;
    values.push_back(*value);
    return std::nullopt;
  }
  std::string_view last_text = item.substr(dash + 1);
  const std::size_t operation = last_text.find_first_of("+*");
  const char sign = operation == std::string_view::npos ? '+' : last_text[operation];
  const auto step = operation == std::string_view::npos
                        ? std::optional<std::int64_t>(1)
                        : parse_integer(last_text.substr(operation + 1));
  const auto first = parse_integer(item.substr(0, dash));
  const auto last = parse_integer(last_text.substr(0, operation));
  if (!first || !last || !step || *first < 0) return ListFault::kMalformed;
  if (*step < (sign == '*' ? 2 : 1) || (sign == '*' && *first == 0)) return ListFault::kMalformed;
  if (*first > *last) return ListFault::kFalls;
  for (std::int64_t value = *first;;) {
    if (std::ssize(values) == kMostListValues) return ListFault::kTooLong;
    values.push_back(value);
    // Divides instead of multiplying, because the next value may overflow.
    if (sign == '+' ? *step > *last - value : value > *last / *step) return std::nullopt;
    value = sign == '+' ? value + *step : value * *step;
  }
}

}  // namespace

bool contains(const IntegerRange& range, std::int64_t value) {
  return value >= range.min && value <= range.max;
}

bool contains(const NumberRange& range, double value) {
  using Ends = NumberRange::Ends;
  const bool min_excluded = range.ends == Ends::kMinExcluded || range.ends == Ends::kExcluded;
  const bool max_excluded = range.ends == Ends::kMaxExcluded || range.ends == Ends::kExcluded;
  return (min_excluded ? value > range.min : value >= range.min) &&
         (max_excluded ? value < range.max : value <= range.max);
}

std::string describe(const IntegerRange& range) {
  const IntegerRange all;
  if (range.min != all.min && range.max != all.max) {
    return fmt::format("an integer from {} to {}", range.min, range.max);
  }
  if (range.min != all.min) return fmt::format("an integer of at least {}", range.min);
  if (range.max != all.max) return fmt::format("an integer of at most {}", range.max);
  return "an integer";
}

std::string describe(const NumberRange& range) {
  using Ends = NumberRange::Ends;
  const bool min_excluded = range.ends == Ends::kMinExcluded || range.ends == Ends::kExcluded;
  const bool max_excluded = range.ends == Ends::kMaxExcluded || range.ends == Ends::kExcluded;
  std::string text = "a number";
  if (!std::isinf(range.min)) {
    text += fmt::format(" {} {}", min_excluded ? "above" : "of at least", range.min);
  }
  if (!std::isinf(range.max)) {
    text += fmt::format("{} {} {}",
                        std::isinf(range.min) ? "" : " and",
                        max_excluded ? "below" : "of at most",
                        range.max);
  }
  return text;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::variant<std::vector<std::int64_t>, ListFault> parse_integer_list(std::string_view text) {
  std::vector<std::int64_t> values;
  for (const std::string_view item : split(text, ',')) {
    if (const auto fault = append_item(item, values)) return *fault;
    if (std::ssize(values) > kMostListValues) return ListFault::kTooLong;
  }
  return values;
}

}  // namespace elixir::tools
