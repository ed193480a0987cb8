// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/frontier.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "core/interrupt.h"
#include "edit/activations.h"
#include "edit/max_flow.h"
#include "edit/repeatability.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Lifetimes;
using program::Operator;
using program::OperatorId;
using program::Phase;
using program::Program;
using program::StorageId;
using program::TensorRef;

/// What a unit of bytes that is kept and a nanosecond that is spent cost.
struct Weights {
  std::int64_t byte = 1, ns = 1;
};

/// Nodes are statements; those on the side of the source are true. An edge from a to b is paid for
/// when a is true and b is not.
class Cut {
 public:
  Cut(const Program& program, const std::vector<std::int64_t>& operator_ns)
      : program_(program),
        operator_ns_(operator_ns),
        lifetimes_(program::analyse_lifetimes(program)),
        repeatability_(program, lifetimes_),
        may_be_made_again_(recomputable(program)),
        in_block_(blocks_of(program)),
        counts_(made_for_the_step(program, lifetimes_)),
        read_in_backward_(program.storages.size(), false) {
    for (const Operator& op : program.operators) {
      if (op.phase != Phase::kBackward || !lifetimes_.executed[op.id]) continue;
      const auto reads = [&](const TensorRef& tensor) { read_in_backward_[tensor.storage] = true; };
      program::for_each_tensor(op.arguments, reads);
      program::for_each_tensor(op.outputs, reads);
    }
    for (std::size_t s = 0; s < counts_.size(); ++s) {
      if (counts_[s]) unit_bytes_ = std::gcd(unit_bytes_, program.storages[s].bytes);
    }
    unit_bytes_ = std::max<std::int64_t>(unit_bytes_, 1);
  }

  /// All storages are multiples of it: counted so, capacities of large models fit 64 bits.
  [[nodiscard]] std::int64_t unit_bytes() const { return unit_bytes_; }

  /// The choice that costs least.
  [[nodiscard]] FrontierPoint least(const Weights& weights) const {
    MaxFlow graph(2);
    constexpr std::int32_t kSource = 0;
    constexpr std::int32_t kSink = 1;
    std::vector<std::int32_t> needed(program_.storages.size(), -1);  // in backward
    std::vector<std::int32_t> again(program_.storages.size(), -1);   // is made again
    std::vector<std::int32_t> runs(program_.operators.size(), -1);   // a second time
    for (std::size_t s = 0; s < needed.size(); ++s) {
      if (!counts_[s]) continue;
      needed[s] = graph.add_node();
      again[s] = graph.add_node();
      if (read_in_backward_[s]) graph.add_edge(kSource, needed[s], MaxFlow::kInfinite);
      graph.add_edge(needed[s], again[s], program_.storages[s].bytes / unit_bytes_ * weights.byte);
      if (!may_be_made_again_[s]) graph.add_edge(again[s], kSink, MaxFlow::kInfinite);
    }
    for (const Operator& op : program_.operators) {
      if (op.phase == Phase::kForward && lifetimes_.executed[op.id]) runs[op.id] = graph.add_node();
    }
    for (std::size_t s = 0; s < again.size(); ++s) {
      if (again[s] < 0) continue;
      for (const OperatorId writer : repeatability_.writers(static_cast<StorageId>(s))) {
        graph.add_edge(again[s], runs[writer] < 0 ? kSink : runs[writer], MaxFlow::kInfinite);
      }
    }
    for (const Operator& op : program_.operators) {
      const std::int32_t node = runs[op.id];
      if (node < 0) continue;
      const bool can = in_block_[op.id] >= 0 && repeatability_.obstacle(op).empty();
      graph.add_edge(node, kSink, can ? operator_ns_[op.id] * weights.ns : MaxFlow::kInfinite);
      program::for_each_tensor(op.arguments, [&](const TensorRef& tensor) {
        if (needed[tensor.storage] < 0) return;
        graph.add_edge(node, needed[tensor.storage], MaxFlow::kInfinite);
      });
      for (const StorageId s : repeatability_.written_by(op)) {
        if (repeatability_.makes(op, s)) continue;
        graph.add_edge(node, again[s] < 0 ? kSink : again[s], MaxFlow::kInfinite);
      }
    }
    const std::vector<bool> side = graph.source_side(kSource, kSink);
    FrontierPoint point;
    for (std::size_t s = 0; s < needed.size(); ++s) {
      if (needed[s] < 0) continue;
      if (side[again[s]]) {
        point.storages.push_back(static_cast<StorageId>(s));
      } else if (side[needed[s]]) {
        point.kept_bytes += program_.storages[s].bytes;
      }
    }
    for (const Operator& op : program_.operators) {
      if (runs[op.id] >= 0 && side[runs[op.id]]) point.recompute_ns += operator_ns_[op.id];
    }
    return point;
  }

  /// No capacity of a graph with these weights is too large for MaxFlow.
  [[nodiscard]] Weights bounded(Weights weights) const {
    double bytes = 1;
    double ns = 1;
    for (std::size_t s = 0; s < counts_.size(); ++s) {
      const std::int64_t units = program_.storages[s].bytes / unit_bytes_;
      if (counts_[s]) bytes += static_cast<double>(units);
    }
    for (const std::int64_t each : operator_ns_) ns += static_cast<double>(each);
    constexpr double kMost = static_cast<double>(MaxFlow::kInfinite) / 2;
    while (bytes * static_cast<double>(weights.byte) + ns * static_cast<double>(weights.ns) >
               kMost &&
           (weights.byte > 1 || weights.ns > 1)) {
      weights.byte = std::max<std::int64_t>(weights.byte / 2, 1);
      weights.ns = std::max<std::int64_t>(weights.ns / 2, 1);
    }
    return weights;
  }

 private:
  const Program& program_;
  const std::vector<std::int64_t>& operator_ns_;
  Lifetimes lifetimes_;
  Repeatability repeatability_;
  std::vector<bool> may_be_made_again_;  ///< by storage
  std::vector<std::int32_t> in_block_;   ///< by operator
  std::vector<bool> counts_;             ///< by storage: made in forward, and free afterwards
  std::vector<bool> read_in_backward_;   ///< by storage
  std::int64_t unit_bytes_ = 0;
};

/// Whether a point keeps less than `left` and more than `right`, for times between theirs. Bounded
/// weights are rounded, so the cheapest choice may lie elsewhere; going on from there might not
/// end.
bool is_between(const FrontierPoint& point, const FrontierPoint& left, const FrontierPoint& right) {
  return point.kept_bytes < left.kept_bytes && point.kept_bytes > right.kept_bytes &&
         point.recompute_ns > left.recompute_ns && point.recompute_ns < right.recompute_ns;
}

/// Points strictly below the line between two of the hull, from the first to the second.
void add_between(const Cut& cut,
                 const FrontierPoint& left,
                 const FrontierPoint& right,
                 std::vector<FrontierPoint>& hull) {
  throw_if_interrupted();
  const Weights weights =
      cut.bounded({.byte = right.recompute_ns - left.recompute_ns,
                   .ns = (left.kept_bytes - right.kept_bytes) / cut.unit_bytes()});
  const auto cost = [&](const FrontierPoint& point) {
    return point.kept_bytes / cut.unit_bytes() * weights.byte + point.recompute_ns * weights.ns;
  };
  FrontierPoint point = cut.least(weights);
  if (!is_between(point, left, right) || cost(point) >= std::min(cost(left), cost(right))) return;
  add_between(cut, left, point, hull);
  hull.push_back(point);
  add_between(cut, point, right, hull);
}

}  // namespace

std::vector<FrontierPoint> frontier(const Program& program,
                                    const std::vector<std::int64_t>& operator_ns) {
  const Cut cut(program, operator_ns);
  std::int64_t all_ns = 1;
  std::int64_t all_bytes = 1;
  for (const std::int64_t ns : operator_ns) all_ns += ns;
  for (const program::Storage& storage : program.storages) all_bytes += storage.bytes;
  FrontierPoint most = cut.least(cut.bounded({.byte = 1, .ns = all_bytes}));
  FrontierPoint fewest = cut.least(cut.bounded({.byte = all_ns, .ns = 1}));
  std::vector<FrontierPoint> hull{most};
  if (fewest.kept_bytes >= most.kept_bytes) return hull;
  if (fewest.recompute_ns > most.recompute_ns) add_between(cut, most, fewest, hull);
  hull.push_back(std::move(fewest));
  return hull;
}

std::vector<std::size_t> spread_over(const std::vector<FrontierPoint>& points) {
  constexpr int kParts = 4;
  const std::int64_t saved_bytes = points.front().kept_bytes - points.back().kept_bytes;
  std::vector<std::size_t> positions;
  for (int part = 1; part < kParts; ++part) {
    const std::int64_t wanted_bytes = points.front().kept_bytes - saved_bytes / kParts * part;
    const auto found = std::find_if(points.begin(), points.end(), [&](const auto& point) {
      return point.kept_bytes <= wanted_bytes;
    });
    positions.push_back(static_cast<std::size_t>(found - points.begin()));
  }
  positions.push_back(points.size() - 1);
  return positions;
}

}  // namespace elixir::edit
