// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The chart of a step's memory: stacked areas by category over the operators in order, with the
// peak and the start of backward. The SVG works without a script. With the data, the page's script
// shows values under the pointer and can hide categories. The colours are taken from
// torch.profiler's memory timeline, as CSS variables of the page.

#include <string>
#include <vector>

#include "core/json.h"
#include "memory/step/timeline.h"
#include "memory/step/timeline_buckets.h"
#include "program/program.h"
#include "report/profile/byte_unit.h"
#include "report/profile/layers.h"

namespace elixir::report {

class MemoryChart {
 public:
  /// At most this many steps along the x axis.
  static constexpr std::size_t kMostBuckets = 2000;

  /// All three must outlive the chart. The program must have operators.
  MemoryChart(const program::Program& program,
              const memory::Timeline& timeline,
              const ByteUnit& unit);

  /// Layers that have bytes at some time, from the bottom.
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] std::string svg() const;
  /// The data for the script (profile_page.js).
  [[nodiscard]] Json data() const;

 private:
  [[nodiscard]] double x_of(double op) const;
  [[nodiscard]] double y_of(std::int64_t bytes) const;
  [[nodiscard]] std::string area(std::size_t layer) const;
  [[nodiscard]] std::string axes() const;
  [[nodiscard]] std::string phases() const;
  [[nodiscard]] std::string peak() const;
  [[nodiscard]] std::int64_t bytes_at(const memory::TimelineBucket& bucket, Layer layer) const;

  const program::Program& program_;
  const memory::Timeline& timeline_;
  const ByteUnit& unit_;
  std::vector<memory::TimelineBucket> buckets_;
  std::vector<Layer> layers_;
  std::int64_t top_bytes_ = 1;  ///< at the top of the plot
};

}  // namespace elixir::report
