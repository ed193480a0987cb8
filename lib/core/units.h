// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Literals, parsing and formatting of units. In this project every plain integer has its unit in
// its name (`peak_bytes`, `step_ns`). Memory is in bytes and shown in KiB/MiB/GiB (1024). Rates are
// SI (1 GB/s = 1e9 B/s). Time is in nanoseconds.

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elixir {

constexpr std::int64_t operator""_KiB(unsigned long long n) {
  return std::int64_t(n) << 10;
}
constexpr std::int64_t operator""_MiB(unsigned long long n) {
  return std::int64_t(n) << 20;
}
constexpr std::int64_t operator""_GiB(unsigned long long n) {
  return std::int64_t(n) << 30;
}

/// `value` / `divisor` (> 0), rounded up.
constexpr std::int64_t ceil_div(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// `value` rounded up to a multiple of `multiple` (> 0).
constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The largest power of two that is not above `n`; 1 for what is below 1.
constexpr std::int64_t power_of_two_up_to(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n < 1 ? 1 : n)));
}

/// Parses "512", "1.5GiB", "80 GB", "64 KiB" into bytes. Accepts B kB MB GB TB KiB MiB GiB TiB,
/// fractions and one optional space. Everything else gives nullopt, also a bare K, M, G or T and
/// negative numbers.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);
/// Help for a text that parse_bytes() refuses. For a bare letter, as in "80G": "80GiB (1024) or
/// 80GB (1000)". Otherwise examples.
[[nodiscard]] std::string expected_bytes(std::string_view text);

/// Parses a list such as "16,24,40,80GiB" or "512MiB,1GiB", in the order written. Sizes without a
/// unit take the unit of the last size.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_bytes_list(std::string_view text);

/// Parses "250ms", "1.5 s", "800us" into nanoseconds, rounded down. A unit is required: ns us µs ms
/// s min h.
[[nodiscard]] std::optional<std::int64_t> parse_duration_ns(std::string_view text);
/// Parses "124439808", "125M", "1.3B" into a count. k M B T are powers of 1000.
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text);
/// Parses "2%", "0.5 %" into percent (2, 0.5). The % sign is required. The value is from 0 to 10^6.
[[nodiscard]] std::optional<double> parse_percent(std::string_view text);

/// "1.50 GiB", "768 MiB", "12 B": three or four digits and a binary unit.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);
/// "412.3 ms", "18.2 µs". Always writes µ: the caller must replace it where the locale is not
/// UTF-8.
[[nodiscard]] std::string format_ns(double ns);
/// "55.5 GB/s", in SI units.
[[nodiscard]] std::string format_bytes_per_s(double bytes_per_s);
/// "1,313,626,112".
[[nodiscard]] std::string format_count(std::int64_t n);

}  // namespace elixir
