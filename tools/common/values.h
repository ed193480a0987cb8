// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Parses flag values: strict, decimal, with ranges. "010" is ten, "3.0" is not an integer, "1e4" is
// a number but not an integer. nullopt means invalid; the caller must then say what is right.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace elixir::tools {

struct IntegerRange {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
};
inline constexpr IntegerRange kPositive{1, std::numeric_limits<std::int64_t>::max()};
inline constexpr IntegerRange kNonNegative{0, std::numeric_limits<std::int64_t>::max()};

struct NumberRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  enum class Ends { kIncluded, kMinExcluded, kMaxExcluded, kExcluded } ends = Ends::kIncluded;
};
inline constexpr NumberRange kPositiveNumber{
    0, std::numeric_limits<double>::infinity(), NumberRange::Ends::kMinExcluded};
inline constexpr NumberRange kNonNegativeNumber{0, std::numeric_limits<double>::infinity()};

[[nodiscard]] bool contains(const IntegerRange& range, std::int64_t value);
[[nodiscard]] bool contains(const NumberRange& range, double value);
/// "an integer from 1 to 64", "an integer of at least 1", "a number above 0".
[[nodiscard]] std::string describe(const IntegerRange& range);
[[nodiscard]] std::string describe(const NumberRange& range);

[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
/// Finite decimal numbers: "3", "0.5", "1e-4", "-2".
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
inline constexpr std::int64_t kMostListValues = 65'536;
/// What is wrong with the text of a list.
enum class ListFault : std::uint8_t {
  kMalformed,
  kFalls,    ///< a range from a larger number to a smaller one
  kTooLong,  ///< more than kMostListValues
};
/// Lists and ranges: "1,2,4", "1-8", "0-8+2" (every second), "1-64*2" (doubling). Non-negative, in
/// the order written.
[[nodiscard]] std::variant<std::vector<std::int64_t>, ListFault> parse_integer_list(
    std::string_view text);

}  // namespace elixir::tools
