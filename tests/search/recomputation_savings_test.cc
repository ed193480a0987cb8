// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// What recomputation can save, held against the edits and the frontier that it is read off.
#include "search/recomputation_savings.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edit/frontier.h"
#include "edit/recompute.h"
#include "fakes/hardware.h"
#include "fakes/program_builder.h"
#include "hardware/operator_cost.h"
#include "program/lifetimes.h"
#include "schedule/simulate.h"

namespace elixir::search {
namespace {

using edit::Recompute;
using ::testing::IsEmpty;

/// A stand-in for a peak: bytes of all storages, so that each edit has another one.
std::int64_t all_bytes(const program::Program& program) {
  std::int64_t bytes = 0;
  for (const program::Storage& storage : program.storages) bytes += storage.bytes;
  return bytes;
}

const RecomputationPoint* point_of(const RecomputationSavings& savings, Recompute choice) {
  const auto found = std::find_if(savings.points.begin(),
                                  savings.points.end(),
                                  [&](const auto& point) { return point.choice == choice; });
  return found == savings.points.end() ? nullptr : &*found;
}

TEST(RecomputationSavings, AreReadOffTheEditedPrograms) {
  const program::Program program = fakes::transformer({.layers = 4});
  const hardware::HardwareProfile hardware = fakes::machine(true);
  const hardware::CostModel cost(hardware);
  const RecomputationSavings savings = recomputation_savings(program, &hardware, all_bytes);
  EXPECT_EQ(savings.blocks, 4);
  EXPECT_EQ(savings.hardware, "fake-gpu");
  const std::vector<std::int64_t> ns = schedule::operator_ns(program, cost);
  EXPECT_EQ(savings.operators_ns, std::accumulate(ns.begin(), ns.end(), std::int64_t{0}));
  EXPECT_EQ(savings.nothing.kept_bytes, edit::kept_bytes(program));
  EXPECT_EQ(savings.nothing.recompute_ns, 0);
  EXPECT_EQ(savings.nothing.peak_allocated_bytes, all_bytes(program));
  for (const Recompute choice : {Recompute::kElementwise, Recompute::kBlocks}) {
    SCOPED_TRACE(edit::name_of(choice));
    const program::Program edited = edit::recompute(program, edit::choose(program, choice)).program;
    const RecomputationPoint* point = point_of(savings, choice);
    ASSERT_NE(point, nullptr);
    EXPECT_EQ(point->kept_bytes, edit::kept_bytes(edited));
    EXPECT_EQ(point->recompute_ns, schedule::recompute_ns(edited, cost));
    EXPECT_EQ(point->peak_allocated_bytes, all_bytes(edited));
  }
}

TEST(RecomputationSavings, GoFromMostBytesToTheFewestOfTheFrontier) {
  const hardware::HardwareProfile hardware = fakes::machine(true);
  for (int layers = 2; layers < 6; ++layers) {
    const program::Program program = fakes::transformer({.layers = layers});
    const std::vector<edit::FrontierPoint> frontier =
        edit::frontier(program, schedule::operator_ns(program, hardware::CostModel(hardware)));
    const RecomputationSavings savings = recomputation_savings(program, &hardware, all_bytes);
    ASSERT_FALSE(savings.points.empty());
    EXPECT_EQ(savings.points.back().kept_bytes, frontier.back().kept_bytes);
    EXPECT_LT(savings.points.front().kept_bytes, savings.nothing.kept_bytes);
    for (std::size_t i = 1; i < savings.points.size(); ++i) {
      const RecomputationPoint& before = savings.points[i - 1];
      const RecomputationPoint& after = savings.points[i];
      EXPECT_GE(before.kept_bytes, after.kept_bytes);
      const bool same =
          before.kept_bytes == after.kept_bytes && before.recompute_ns == after.recompute_ns;
      EXPECT_FALSE(same) << "one choice is shown twice";
    }
  }
}

TEST(RecomputationSavings, WithoutHardwareHaveNoTimesAndTheSameFewestBytes) {
  const program::Program program = fakes::transformer({.layers = 3});
  const hardware::HardwareProfile hardware = fakes::machine(true);
  const RecomputationSavings with = recomputation_savings(program, &hardware, all_bytes);
  const RecomputationSavings without = recomputation_savings(program, nullptr, all_bytes);
  EXPECT_EQ(without.hardware, "");
  EXPECT_EQ(without.operators_ns, std::nullopt);
  ASSERT_FALSE(without.points.empty());
  EXPECT_EQ(without.points.back().kept_bytes, with.points.back().kept_bytes);
  for (const RecomputationPoint& point : without.points) {
    EXPECT_EQ(point.recompute_ns, std::nullopt);
  }
  ASSERT_NE(point_of(without, Recompute::kElementwise), nullptr);
  EXPECT_EQ(point_of(without, Recompute::kElementwise)->kept_bytes,
            point_of(with, Recompute::kElementwise)->kept_bytes);
}

TEST(RecomputationSavings, NeedRepeatedBlocks) {
  const hardware::HardwareProfile hardware = fakes::machine(true);
  program::Program program = fakes::mlp({8, 8, 8}, 2);
  for (program::Operator& op : program.operators) op.module = -1;
  const RecomputationSavings savings = recomputation_savings(program, &hardware, all_bytes);
  EXPECT_EQ(savings.blocks, 0);
  EXPECT_THAT(savings.points, IsEmpty());
  EXPECT_GT(savings.nothing.kept_bytes, 0);
  EXPECT_GT(savings.operators_ns, 0);
  const program::Program empty = fakes::ProgramBuilder().build();
  EXPECT_THAT(recomputation_savings(empty, nullptr, all_bytes).points, IsEmpty());
}

}  // namespace
}  // namespace elixir::search
