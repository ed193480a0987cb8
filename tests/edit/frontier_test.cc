// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The frontier of kept bytes and recomputed time: held against every choice there is, each one made
// by recompute() and measured on the program that came out.
#include "edit/frontier.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/sanitizer.h"
#include "edit/activations.h"
#include "edit/max_flow.h"
#include "edit/recompute.h"
#include "fakes/program_builder.h"

namespace elixir::edit {
namespace {

constexpr int kPrograms = kUnderAddressSanitizer ? 100 : 2000;

using program::Operator;
using program::Phase;
using program::Program;
using program::StorageId;

struct Cost {
  std::int64_t kept_bytes = 0, recompute_ns = 0;
};

/// What recomputing `storages` costs, read off the edited program.
Cost cost_of(const Program& program,
             const std::vector<StorageId>& storages,
             const std::vector<std::int64_t>& operator_ns) {
  const Program edited = recompute(program, storages).program;
  Cost cost;
  for (const StorageId s : kept_activations(edited)) cost.kept_bytes += edited.storages[s].bytes;
  // Operators of forward keep their order, and so their numbers among those of forward.
  std::vector<std::int64_t> forward_ns;
  std::vector<std::int32_t> position(edited.operators.size(), -1);
  for (const Operator& op : program.operators) {
    if (op.phase == Phase::kForward) forward_ns.push_back(operator_ns[op.id]);
  }
  std::int32_t next = 0;
  for (const Operator& op : edited.operators) {
    if (op.phase == Phase::kForward) position[op.id] = next++;
    if (op.repeats >= 0) cost.recompute_ns += forward_ns[position[op.repeats]];
  }
  return cost;
}

std::vector<StorageId> candidates_of(const Program& program) {
  const std::vector<bool> may = recomputable(program);
  std::vector<StorageId> result;
  for (std::size_t s = 0; s < may.size(); ++s) {
    if (may[s]) result.push_back(static_cast<StorageId>(s));
  }
  return result;
}

/// Forward's operators in two to four blocks, the first ones in none.
Program in_blocks(Program program, std::mt19937_64& random) {
  const auto forward =
      std::count_if(program.operators.begin(), program.operators.end(), [](const Operator& op) {
        return op.phase == Phase::kForward;
      });
  const std::int64_t blocks = 2 + static_cast<std::int64_t>(random() % 3);
  const std::int64_t before = static_cast<std::int64_t>(random() % 3);
  program.modules.clear();
  for (std::int64_t b = 0; b < blocks; ++b) program.modules.push_back("h." + std::to_string(b));
  for (Operator& op : program.operators) {
    op.module = -1;
    if (op.phase != Phase::kForward || op.id < before) continue;
    op.module =
        static_cast<std::int32_t>((op.id - before) * blocks / std::max<std::int64_t>(forward, 1));
  }
  return program;
}

void expect_hull(const std::vector<FrontierPoint>& hull, const std::vector<Cost>& all) {
  for (std::size_t i = 1; i < hull.size(); ++i) {
    EXPECT_LT(hull[i].kept_bytes, hull[i - 1].kept_bytes);
    EXPECT_GT(hull[i].recompute_ns, hull[i - 1].recompute_ns);
  }
  for (const Cost& cost : all) {
    EXPECT_GE(cost.recompute_ns, hull.front().recompute_ns);
    EXPECT_GE(cost.kept_bytes, hull.back().kept_bytes);
    if (cost.recompute_ns == hull.front().recompute_ns) {
      EXPECT_GE(cost.kept_bytes, hull.front().kept_bytes);
    }
    if (cost.kept_bytes == hull.back().kept_bytes) {
      EXPECT_GE(cost.recompute_ns, hull.back().recompute_ns);
    }
    for (std::size_t i = 1; i < hull.size(); ++i) {
      const std::int64_t byte = hull[i].recompute_ns - hull[i - 1].recompute_ns;
      const std::int64_t ns = hull[i - 1].kept_bytes - hull[i].kept_bytes;
      EXPECT_GE(cost.kept_bytes * byte + cost.recompute_ns * ns,
                hull[i].kept_bytes * byte + hull[i].recompute_ns * ns)
          << "a choice below the hull";
    }
  }
}

/// Operators that take years: no 64 bits hold bytes times nanoseconds, so weights are rounded. The
/// hull may then lack points, but it ends, goes down all the way, and has none but real choices.
TEST(Frontier, EndsWhereWeightsMustBeRounded) {
  int with_a_choice = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = in_blocks(fakes::random_program(seed), random);
    std::vector<std::int64_t> operator_ns(program.operators.size());
    for (std::int64_t& ns : operator_ns) ns = static_cast<std::int64_t>(random() >> 12);
    const std::vector<FrontierPoint> hull = frontier(program, operator_ns);
    ASSERT_FALSE(hull.empty());
    for (std::size_t i = 1; i < hull.size(); ++i) {
      EXPECT_LT(hull[i].kept_bytes, hull[i - 1].kept_bytes);
      EXPECT_GT(hull[i].recompute_ns, hull[i - 1].recompute_ns);
    }
    for (const FrontierPoint& point : hull) {
      const Cost cost = cost_of(program, point.storages, operator_ns);
      EXPECT_EQ(cost.kept_bytes, point.kept_bytes);
      EXPECT_EQ(cost.recompute_ns, point.recompute_ns);
    }
    with_a_choice += hull.size() > 2 ? 1 : 0;
  }
  EXPECT_GT(with_a_choice, 20);
}

TEST(Frontier, IsTheLowerHullOfEveryChoiceOfRandomPrograms) {
  constexpr std::size_t kMostCandidates = 6;
  int compared = 0;
  int with_a_choice = 0;
  for (std::uint64_t seed = 0; compared < kPrograms && seed < 20000; ++seed) {
    std::mt19937_64 random(seed);
    const Program program = in_blocks(fakes::random_program(seed), random);
    const std::vector<StorageId> candidates = candidates_of(program);
    if (candidates.empty() || candidates.size() > kMostCandidates) continue;
    std::vector<std::int64_t> operator_ns(program.operators.size());
    for (std::int64_t& ns : operator_ns) ns = static_cast<std::int64_t>(random() % 100);
    std::vector<Cost> all;
    for (std::size_t subset = 0; subset < std::size_t{1} << candidates.size(); ++subset) {
      std::vector<StorageId> chosen;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if ((subset >> i & 1) != 0) chosen.push_back(candidates[i]);
      }
      all.push_back(cost_of(program, chosen, operator_ns));
    }
    const std::vector<FrontierPoint> hull = frontier(program, operator_ns);
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const FrontierPoint& point : hull) {
      const Cost made = cost_of(program, point.storages, operator_ns);
      EXPECT_EQ(made.kept_bytes, point.kept_bytes);
      EXPECT_EQ(made.recompute_ns, point.recompute_ns);
    }
    expect_hull(hull, all);
    if (testing::Test::HasFailure()) return;
    ++compared;
    if (hull.size() > 1) ++with_a_choice;
  }
  EXPECT_EQ(compared, kPrograms);
  EXPECT_GT(with_a_choice, kPrograms / 4);
}

TEST(Frontier, OfATransformerGoesFromEverythingKeptToTheInputsOfBlocks) {
  fakes::TransformerOptions options;
  options.layers = 3;
  const Program program = fakes::transformer(options);
  const std::vector<FrontierPoint> hull =
      frontier(program, std::vector<std::int64_t>(program.operators.size(), 10));
  ASSERT_GE(hull.size(), 2);
  EXPECT_EQ(hull.front().recompute_ns, 0);
  EXPECT_EQ(
      hull.front().kept_bytes,
      cost_of(program, {}, std::vector<std::int64_t>(program.operators.size(), 10)).kept_bytes);
  const Program blocks = recompute(program, choose(program, Recompute::kBlocks)).program;
  std::int64_t bytes = 0;
  for (const StorageId s : kept_activations(blocks)) bytes += blocks.storages[s].bytes;
  EXPECT_LE(hull.back().kept_bytes, bytes);
}

TEST(Frontier, WithoutBlocksKeepsEverything) {
  Program program = fakes::mlp({8, 8, 8}, 2);
  for (Operator& op : program.operators) op.module = -1;
  const std::vector<FrontierPoint> hull =
      frontier(program, std::vector<std::int64_t>(program.operators.size(), 1));
  ASSERT_EQ(hull.size(), 1);
  EXPECT_THAT(hull.front().storages, testing::IsEmpty());
}

TEST(Frontier, IsItsFewestBytesWhereNothingTakesTime) {
  const Program program = fakes::transformer({.layers = 3});
  const std::size_t operators = program.operators.size();
  const std::vector<FrontierPoint> hull =
      frontier(program, std::vector<std::int64_t>(operators, 0));
  ASSERT_EQ(hull.size(), 1);
  EXPECT_EQ(hull.front().kept_bytes,
            frontier(program, std::vector<std::int64_t>(operators, 1)).back().kept_bytes);
}

TEST(Frontier, IsSpreadOverWhatCanBeSaved) {
  const auto spread = [](const std::vector<std::int64_t>& kept_bytes) {
    std::vector<FrontierPoint> points;
    for (const std::int64_t bytes : kept_bytes) points.push_back({.kept_bytes = bytes});
    return spread_over(points);
  };
  EXPECT_EQ(spread({100}), (std::vector<std::size_t>{0, 0, 0, 0}));
  EXPECT_EQ(spread({100, 20}), (std::vector<std::size_t>{1, 1, 1, 1}));
  EXPECT_EQ(spread({100, 90, 81, 80, 60, 45, 30, 20}), (std::vector<std::size_t>{3, 4, 6, 7}));
}

TEST(KeptBytes, AreThoseOfAllKeptActivations) {
  const Program program = fakes::transformer({.layers = 2});
  std::int64_t bytes = 0;
  for (const StorageId s : kept_activations(program)) bytes += program.storages[s].bytes;
  EXPECT_GT(bytes, 0);
  EXPECT_EQ(kept_bytes(program), bytes);
}

TEST(MaxFlow, CutsTheCheapestEdges) {
  // source -7-> 2 -3-> sink, source -2-> 3 -9-> sink, 2 -1-> 3
  MaxFlow graph(4);
  graph.add_edge(0, 2, 7);
  graph.add_edge(2, 1, 3);
  graph.add_edge(0, 3, 2);
  graph.add_edge(3, 1, 9);
  graph.add_edge(2, 3, 1);
  EXPECT_EQ(graph.source_side(0, 1), (std::vector<bool>{true, false, true, false}));
}

TEST(MaxFlow, IsTheSmallestCutOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    constexpr int kNodes = 7;
    std::int64_t capacity[kNodes][kNodes] = {};
    MaxFlow graph(kNodes);
    for (int e = 0; e < 16; ++e) {
      const auto from = static_cast<std::int32_t>(random() % kNodes);
      const auto to = static_cast<std::int32_t>(random() % kNodes);
      if (from == to) continue;
      const auto width = static_cast<std::int64_t>(random() % 20);
      capacity[from][to] += width;
      graph.add_edge(from, to, width);
    }
    const auto cost = [&](const std::vector<bool>& side) {
      std::int64_t sum = 0;
      for (int a = 0; a < kNodes; ++a) {
        for (int b = 0; b < kNodes; ++b) {
          if (side[a] && !side[b]) sum += capacity[a][b];
        }
      }
      return sum;
    };
    std::int64_t least = MaxFlow::kInfinite;
    for (int subset = 0; subset < 1 << (kNodes - 2); ++subset) {
      std::vector<bool> side{true, false};
      for (int node = 2; node < kNodes; ++node) side.push_back((subset >> (node - 2) & 1) != 0);
      least = std::min(least, cost(side));
    }
    const std::vector<bool> side = graph.source_side(0, 1);
    EXPECT_TRUE(side[0]);
    EXPECT_FALSE(side[1]);
    EXPECT_EQ(cost(side), least) << "seed " << seed;
  }
}

}  // namespace
}  // namespace elixir::edit
