// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Units as literals and helpers. Everywhere in the project a plain integer carries its unit in its
// name (`peak_bytes`, `step_ns`); memory is counted in bytes and shown in KiB/MiB/GiB (1024), rates
// are SI (1 GB/s = 1e9 B/s), time is counted in nanoseconds.

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
/// fractions and one optional space; a bare K, M, G or T, a negative number and anything else is
/// nullopt.
[[nodiscard]] std::optional<std::int64_t> parse_bytes(std::string_view text);
/// What to say instead of a text that parse_bytes() refuses: "80GiB (1024) or 80GB (1000)" for the
/// bare letter of "80G", else examples.
[[nodiscard]] std::string expected_bytes(std::string_view text);

/// "16,24,40,80GiB", "512MiB,1GiB": sizes in the order written; those without a unit have that of
/// the last.
[[nodiscard]] std::optional<std::vector<std::int64_t>> parse_bytes_list(std::string_view text);

/// Parses "250ms", "1.5 s", "800us" into nanoseconds, rounded down. The unit is required: ns us µs
/// ms s min h.
[[nodiscard]] std::optional<std::int64_t> parse_duration_ns(std::string_view text);
/// Parses "124439808", "125M", "1.3B" into a count; k M B T are powers of 1000.
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text);
/// Parses "2%", "0.5 %" into percent (2, 0.5). The sign is required; not negative, at most 10^6.
[[nodiscard]] std::optional<double> parse_percent(std::string_view text);

/// "1.50 GiB", "768 MiB", "12 B": three or four digits, binary units.
[[nodiscard]] std::string format_bytes(std::int64_t bytes);
/// "412.3 ms", "18.2 µs" (`us` where the locale is not UTF-8 is the caller's business).
[[nodiscard]] std::string format_ns(double ns);
/// "55.5 GB/s": SI.
[[nodiscard]] std::string format_bytes_per_s(double bytes_per_s);
/// "1,313,626,112".
[[nodiscard]] std::string format_count(std::int64_t n);

}  // namespace elixir
