// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The raw samples behind the figures of one measurement, kept while a scope lives: for the JSON
// lines of --samples and for noticing that a machine slowed down while it was measured.

#include <cstddef>
#include <string>
#include <vector>

namespace elixir::measure {

struct SampleSeries {
  std::string measurement;
  std::string method;          ///< of the figure
  std::vector<double> values;  ///< in the figure's unit, in the order they were taken
};

/// While it lives, every figure made on this thread leaves its samples here. Scopes nest: the
/// innermost keeps them.
class SampleScope {
 public:
  explicit SampleScope(std::string measurement);
  ~SampleScope();
  SampleScope(const SampleScope&) = delete;
  SampleScope& operator=(const SampleScope&) = delete;
  [[nodiscard]] const std::vector<SampleSeries>& series() const { return series_; }
  /// Series too few of whose samples were free of other programs.
  [[nodiscard]] int contended() const { return contended_; }

 private:
  friend void note_contention();
  friend int contended_so_far();
  friend void keep_samples(const std::vector<double>& values, const std::string& method);
  std::string measurement_;
  std::vector<SampleSeries> series_;
  int contended_ = 0;
  SampleScope* outer_;
};

/// Hands the samples of a figure to the innermost scope of this thread, if there is one.
void keep_samples(const std::vector<double>& values, const std::string& method);

/// Counts a series for the innermost scope's contended().
void note_contention();
/// contended() of the innermost scope; 0 without one.
[[nodiscard]] int contended_so_far();

/// What `contended` series of `series` say; empty for none.
[[nodiscard]] std::string contention_note(int contended, std::size_t series);

/// Median of the second half of the samples over that of the first, minus one; 0 for fewer than
/// eight samples. A machine that throttles drifts.
[[nodiscard]] double drift(const std::vector<double>& values);

/// What the samples say about a machine that changed its pace: the series that drifted most, when
/// that is beyond `limit`; else empty.
[[nodiscard]] std::string drift_note(const std::vector<SampleSeries>& series, double limit);

/// One JSON object a line: measurement, method, values.
[[nodiscard]] std::string json_lines(const std::vector<SampleSeries>& series);

}  // namespace elixir::measure
