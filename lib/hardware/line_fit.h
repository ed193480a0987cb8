// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// Fits the time of a transfer as a line over its size.

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
  double worst_relative_error = 0;  ///< of the line over all points
  [[nodiscard]] double seconds(double bytes) const { return latency_s + bytes / bytes_per_s; }
};

/// Least squares of the *relative* error, so that a page counts as much as a gigabyte. A negative
/// latency becomes zero. Needs two different sizes, and times that grow with the size (else
/// kInternal).
[[nodiscard]] TransferLine fit_line(const std::vector<TimedBytes>& points);

/// Like fit_line(), but nullopt when the line is off by more than kWorstLineError at some point.
/// Then the points lie on no line (because of caches, or of a machine that was busy for some of
/// them), and a rate would be made up.
inline constexpr double kWorstLineError = 0.6;
[[nodiscard]] std::optional<TransferLine> fit_line_that_holds(
    const std::vector<TimedBytes>& points);

/// Like fit_line(), but some points may lie off the line. Finds the line that most points agree
/// with, that is, lie within `tolerance` of their time (random sample consensus, Fischler and
/// Bolles 1981, over all pairs, or an even selection of many). nullopt when fewer than `least`
/// points agree, or when the points that agree have nearly the same size.
[[nodiscard]] std::optional<TransferLine> fit_line_of_most(const std::vector<TimedBytes>& points,
                                                           double tolerance,
                                                           std::size_t least);

}  // namespace elixir::hardware
