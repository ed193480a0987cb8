// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "search/recomputation_savings.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/parallel.h"
#include "edit/frontier.h"
#include "edit/recompute.h"
#include "hardware/operator_cost.h"
#include "program/lifetimes.h"
#include "schedule/simulate.h"

namespace elixir::search {
namespace {

using edit::Recompute;

/// A way to recompute, before its edit is made.
struct SavingChoice {
  Recompute name = Recompute::kNone;
  std::vector<program::StorageId> storages;
};

std::int64_t count_blocks(const program::Program& program) {
  std::set<std::int32_t> blocks;
  for (const std::int32_t block : edit::blocks_of(program)) {
    if (block >= 0) blocks.insert(block);
  }
  return static_cast<std::int64_t>(blocks.size());
}

/// Points that say how far recomputation goes. Where no call takes time, that is the last one alone.
std::vector<SavingChoice> choices_of_frontier(const program::Program& program,
                                              const std::vector<std::int64_t>& operator_ns) {
  const std::vector<edit::FrontierPoint> points = edit::frontier(program, operator_ns);
  const std::vector<std::size_t> spread = edit::spread_over(points);
  std::vector<SavingChoice> choices;
  for (const std::size_t position : std::set<std::size_t>(spread.begin(), spread.end())) {
    choices.push_back({.name = Recompute::kFrontier, .storages = points[position].storages});
  }
  return choices;
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

  // Named choices come first: what elixir-search knows by name is not shown as a point.
  std::vector<SavingChoice> choices;
  for (const Recompute name : {Recompute::kElementwise, Recompute::kBlocks}) {
    choices.push_back({.name = name, .storages = edit::choose(program, name)});
  }
  for (SavingChoice& choice : choices_of_frontier(program, operator_ns)) {
    choices.push_back(std::move(choice));
  }
  std::vector<RecomputationPoint> points(choices.size());
  in_parallel(choices.size(), [&](std::size_t i) {
    points[i] = measured(choices[i].name, edit::recompute(program, choices[i].storages).program);
  });
  std::set<std::pair<std::int64_t, std::optional<std::int64_t>>> seen;
  for (RecomputationPoint& point : points) {
    if (point.kept_bytes >= savings.nothing.kept_bytes) continue;
    if (!seen.emplace(point.kept_bytes, point.recompute_ns).second) continue;
    savings.points.push_back(std::move(point));
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
