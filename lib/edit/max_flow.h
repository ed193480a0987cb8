// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#pragma once
// A minimum cut between a source and a sink, by Dinic's algorithm (E. A. Dinic, 1970). Graphs are
// sparse and have few layers here, so that it is fast enough.

#include <cstdint>
#include <vector>

namespace elixir::edit {

class MaxFlow {
 public:
  /// A capacity that no cut pays.
  static constexpr std::int64_t kInfinite = std::int64_t{1} << 61;

  explicit MaxFlow(std::int32_t nodes);
  [[nodiscard]] std::int32_t add_node();
  /// The sum of all capacities below kInfinite must be below kInfinite.
  void add_edge(std::int32_t from, std::int32_t to, std::int64_t capacity);

  /// The side of the source in the minimum cut that has fewest nodes there, by node. Call it once.
  [[nodiscard]] std::vector<bool> source_side(std::int32_t source, std::int32_t sink);

 private:
  struct Edge {
    std::int32_t to;
    std::int64_t left;  ///< capacity that no flow uses yet
  };
  bool layer(std::int32_t source, std::int32_t sink);
  std::int64_t push(std::int32_t source, std::int32_t sink);

  std::vector<Edge> edges_;  ///< each followed by its reverse
  std::vector<std::vector<std::int32_t>> out_;
  std::vector<std::int32_t> layer_, next_;
};

}  // namespace elixir::edit
