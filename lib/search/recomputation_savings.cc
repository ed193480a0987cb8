// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/recomputation_savings.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>

#include "core/parallel.h"
#include "edit/frontier.h"
#include "edit/recompute.h"
#include "hardware/operator_cost.h"
#include "program/lifetimes.h"
#include "schedule/simulate.h"

namespace elixir::search {
namespace {

using edit::Recompute;

std::int64_t count_blocks(const program::Program& program) {
  std::set<std::int32_t> blocks;
  for (const std::int32_t block : edit::blocks_of(program)) {
    if (block >= 0) blocks.insert(block);
  }
  return static_cast<std::int64_t>(blocks.size());
}

/// Points of the frontier that say how far recomputation goes. Where no call takes time, that is
/// the last one alone.
std::vector<edit::FrontierPoint> spread_points(const program::Program& program,
                                               const std::vector<std::int64_t>& operator_ns) {
  const std::vector<edit::FrontierPoint> points = edit::frontier(program, operator_ns);
  const std::vector<std::size_t> spread = edit::spread_over(points);
  std::vector<edit::FrontierPoint> chosen;
  for (const std::size_t position : std::set<std::size_t>(spread.begin(), spread.end())) {
    chosen.push_back(points[position]);
  }
  return chosen;
}

}  // namespace

RecomputationSavings recomputation_savings(
    const program::Program& program,
    const hardware::HardwareProfile* hardware,
    const std::function<std::int64_t(const program::Program&)>& peak_of) {
  RecomputationSavings savings;
  std::optional<hardware::CostModel> cost;
  std::vector<std::int64_t> operator_ns(program.operators.size(), 0);
  if (hardware != nullptr) {
    cost.emplace(*hardware);
    savings.hardware = hardware->name;
    operator_ns = schedule::operator_ns(program, *cost);
    savings.operators_ns = std::accumulate(operator_ns.begin(), operator_ns.end(), std::int64_t{0});
  }
  const auto measured = [&](Recompute choice, const program::Program& edited) {
    RecomputationPoint point{.choice = choice, .kept_bytes = edit::kept_bytes(edited)};
    if (cost) point.recompute_ns = schedule::recompute_ns(edited, *cost);
    point.peak_allocated_bytes = peak_of(edited);
    return point;
  };
  savings.blocks = count_blocks(program);
  savings.nothing = measured(Recompute::kNone, program::with_replay_lifetimes(program));
  if (savings.blocks == 0) return savings;

  constexpr std::array kNamed{Recompute::kElementwise, Recompute::kBlocks};
  std::array<RecomputationPoint, kNamed.size()> named;
  in_parallel(named.size(), [&](std::size_t i) {
    const std::vector<program::StorageId> storages = edit::choose(program, kNamed[i]);
    named[i] = measured(kNamed[i], edit::recompute(program, storages).program);
  });
  for (const RecomputationPoint& point : named) {
    if (point.kept_bytes < savings.nothing.kept_bytes) savings.points.push_back(point);
  }
  // A point that a named choice reaches as well is not worth a row, and mostly not an edit.
  const auto is_reached = [&](std::int64_t kept_bytes, std::optional<std::int64_t> recompute_ns) {
    return kept_bytes >= savings.nothing.kept_bytes ||
           std::any_of(named.begin(), named.end(), [&](const RecomputationPoint& point) {
             return point.kept_bytes == kept_bytes && point.recompute_ns <= recompute_ns;
           });
  };
  std::vector<edit::FrontierPoint> others = spread_points(program, operator_ns);
  std::erase_if(others, [&](const edit::FrontierPoint& other) {
    return is_reached(other.kept_bytes, other.recompute_ns);
  });
  std::vector<RecomputationPoint> of_frontier(others.size());
  in_parallel(others.size(), [&](std::size_t i) {
    of_frontier[i] =
        measured(Recompute::kFrontier, edit::recompute(program, others[i].storages).program);
  });
  // The copy of a batch norm takes less time than the frontier counts: it has no statistics.
  for (const RecomputationPoint& point : of_frontier) {
    if (!is_reached(point.kept_bytes, point.recompute_ns)) savings.points.push_back(point);
  }
  std::stable_sort(savings.points.begin(),
                   savings.points.end(),
                   [](const RecomputationPoint& a, const RecomputationPoint& b) {
                     return std::make_tuple(-a.kept_bytes, a.recompute_ns) <
                            std::make_tuple(-b.kept_bytes, b.recompute_ns);
                   });
  return savings;
}

}  // namespace elixir::search
