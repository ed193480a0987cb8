// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The time of a transfer as a line over its size.

#include <cstddef>
#include <optional>
#include <vector>

namespace elixir::hardware {

struct TimedBytes {
  double bytes = 0;
  double seconds = 0;  ///< above zero
};

/// seconds = latency + bytes / rate.
struct TransferLine {
  double latency_s = 0;
  double bytes_per_s = 0;
  double worst_relative_error = 0;  ///< of the line against the points
  [[nodiscard]] double seconds(double bytes) const { return latency_s + bytes / bytes_per_s; }
};

/// Least squares of the *relative* error, so that a page counts as much as a gigabyte; a latency
/// that would be negative is zero. Needs two sizes, and times that grow with them (kInternal).
[[nodiscard]] TransferLine fit_line(const std::vector<TimedBytes>& points);

/// fit_line(), unless it is more than kWorstLineError off somewhere: such points lie on no line
/// (caches, a machine that was busy for some of them), and its rate would be made up.
inline constexpr double kWorstLineError = 0.6;
[[nodiscard]] std::optional<TransferLine> fit_line_that_holds(
    const std::vector<TimedBytes>& points);

/// The same where some points lie on no common line: the line through the most of them, which means
/// no further off than `tolerance` of their time (random sample consensus, Fischler and Bolles
/// 1981, over all pairs or, of many, an even selection). Nullopt when fewer than `least` points
/// agree or those that do are nearly of one size.
[[nodiscard]] std::optional<TransferLine> fit_line_of_most(const std::vector<TimedBytes>& points,
                                                           double tolerance,
                                                           std::size_t least);

}  // namespace elixir::hardware
