// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// The way along a frontier, one block at a time. All blocks take the same point of a frontier
// (frontier.h), which leaves gaps of many bytes between points. A position between two neighbours
// has the first blocks of forward at the point that keeps less, and the others at the point that
// keeps more. The first blocks come first, because their activations wait longest for backward; and
// when backward makes them again, the activations of the others are gone.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "edit/frontier.h"
#include "program/program.h"

namespace elixir::edit {

class FrontierPath {
 public:
  /// `points`: frontier() of `program`; at least one.
  FrontierPath(const program::Program& program, std::vector<FrontierPoint> points);

  [[nodiscard]] const std::vector<FrontierPoint>& points() const { return points_; }
  /// Where a point of the frontier is. The first one is at 0.
  [[nodiscard]] std::size_t position_of(std::size_t point) const { return start_[point]; }
  [[nodiscard]] std::size_t last() const { return start_.back(); }

  /// What to give to recompute(), ascending.
  [[nodiscard]] std::vector<program::StorageId> storages(std::size_t position) const;
  /// Exact at the points of the frontier; between them every block counts the same.
  [[nodiscard]] std::int64_t kept_bytes(std::size_t position) const;
  /// The position between `left` and a later `right` that keeps about half of what differs; `left`
  /// when there is none.
  [[nodiscard]] std::size_t middle(std::size_t left, std::size_t right) const;

 private:
  /// The last point at or before `position`.
  [[nodiscard]] std::size_t point_before(std::size_t position) const;

  std::vector<FrontierPoint> points_;
  std::vector<std::size_t> start_;   ///< by point: its position
  std::vector<std::int32_t> block_;  ///< by storage
  /// By point but the last: the blocks in which the next one differs, in the order of forward.
  std::vector<std::vector<std::int32_t>> changes_;
};

}  // namespace elixir::edit
