// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The raw samples behind the figures of one measurement. A scope collects them, for the JSON lines
// of --samples, and to notice when a machine slowed down during the measurement.

#include <cstddef>
#include <string>
#include <vector>

namespace elixir::measure {

struct SampleSeries {
  std::string measurement;
  std::string method;          ///< of the figure
  std::vector<double> values;  ///< in the figure's unit, in order
};

/// While it lives, it keeps the samples of every figure made on this thread. Scopes nest; the
/// innermost one keeps the samples.
class SampleScope {
 public:
  explicit SampleScope(std::string measurement);
  ~SampleScope();
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;
  [[nodiscard]] const std::vector<SampleSeries>& series() const { return series_; }
  /// Number of series with too few samples free of disturbance by other programs.
  [[nodiscard]] int contended() const { return static_cast<int>(contended_.size()); }

 private:
  friend void note_contention(const std::vector<double>& samples);
  friend bool were_contended(const std::vector<double>& samples);
  friend int contended_so_far();
  friend void keep_samples(const std::vector<double>& values, const std::string& method);
  std::string measurement_;
  std::vector<SampleSeries> series_;
  std::vector<std::vector<double>> contended_;  ///< their samples
  SampleScope* outer_;
};

/// Adds the samples of a figure to the innermost scope of this thread, if there is one.
void keep_samples(const std::vector<double>& values, const std::string& method);

/// Adds a series to contended() of the innermost scope.
void note_contention(const std::vector<double>& samples);
/// Whether the samples are such a series of the innermost scope. A figure made of them says so.
[[nodiscard]] bool were_contended(const std::vector<double>& samples);
/// contended() of the innermost scope; 0 without one.
[[nodiscard]] int contended_so_far();

/// A note for people when `contended` of `series` series were disturbed; empty for none.
[[nodiscard]] std::string contention_note(int contended, std::size_t series);

/// Median of the second half of the samples over the median of the first half, minus one. 0 for
/// fewer than eight samples. A machine that throttles has a large drift.
[[nodiscard]] double drift(const std::vector<double>& values);

/// A note about the series with the largest drift, if that is beyond `limit`; otherwise empty.
[[nodiscard]] std::string drift_note(const std::vector<SampleSeries>& series, double limit);

/// One JSON object per line: measurement, method, values.
[[nodiscard]] std::string json_lines(const std::vector<SampleSeries>& series);

}  // namespace elixir::measure
