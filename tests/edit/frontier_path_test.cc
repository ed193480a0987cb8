// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Positions between the points of a frontier: each is made by recompute() and measured on the
// program that came out.
#include "edit/frontier_path.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edit/activations.h"
#include "edit/recompute.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Program;
using program::StorageId;

constexpr int kLayers = 6;

Program model() {
  return fakes::transformer({.layers = kLayers});
}

/// Products take long, all else a little.
FrontierPath path_of(const Program& program) {
  std::vector<std::int64_t> operator_ns;
  for (const program::Operator& op : program.operators) {
    operator_ns.push_back(op.flops > 0 ? 100 + op.flops / 1000 : 10);
  }
  return {program, frontier(program, operator_ns)};
}

std::set<std::int32_t> blocks_with(const Program& program, const std::vector<StorageId>& storages) {
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const std::vector<std::int32_t> block = blocks_of(program);
  std::set<std::int32_t> found;
  for (const StorageId s : storages) found.insert(block[lifetimes.storages[s].producer]);
  return found;
}

TEST(FrontierPath, PassesThroughEveryPointOfTheFrontier) {
  const Program program = model();
  const FrontierPath path = path_of(program);
  ASSERT_GT(path.points().size(), 2U);
  for (std::size_t point = 0; point < path.points().size(); ++point) {
    const std::size_t position = path.position_of(point);
    EXPECT_EQ(path.storages(position), path.points()[point].storages);
    EXPECT_EQ(path.kept_bytes(position), path.points()[point].kept_bytes);
    EXPECT_EQ(position, point * kLayers) << "one position for each block";
  }
  EXPECT_EQ(path.last(), path.position_of(path.points().size() - 1));
}

TEST(FrontierPath, BetweenTwoPointsEveryBlockSavesItsShare) {
  const Program program = model();
  const FrontierPath path = path_of(program);
  std::int64_t before = kept_bytes(program) + 1;
  for (std::size_t position = 0; position <= path.last(); ++position) {
    const Recomputed made = recompute(program, path.storages(position));
    EXPECT_THAT(made.kept, testing::IsEmpty());
    const std::int64_t kept = kept_bytes(made.program);
    EXPECT_LT(kept, before) << position;
    EXPECT_EQ(kept, path.kept_bytes(position)) << position;
    before = kept;
  }
}

TEST(FrontierPath, TheFirstBlocksOfForwardAreMadeAgainFirst) {
  const Program program = model();
  const FrontierPath path = path_of(program);
  ASSERT_THAT(path.storages(0), testing::IsEmpty());
  EXPECT_THAT(blocks_with(program, path.storages(1)), testing::ElementsAre(0));
  EXPECT_THAT(blocks_with(program, path.storages(3)), testing::ElementsAre(0, 1, 2));
}

TEST(FrontierPath, TheMiddleKeepsHalfOfWhatDiffers) {
  const Program program = model();
  const FrontierPath path = path_of(program);
  const std::size_t middle = path.middle(0, path.last());
  const std::int64_t half = (path.kept_bytes(0) + path.kept_bytes(path.last())) / 2;
  EXPECT_LE(path.kept_bytes(middle), half);
  EXPECT_GT(path.kept_bytes(middle - 1), half);
  EXPECT_EQ(path.middle(3, 4), 3U);
  EXPECT_EQ(path.middle(3, 5), 4U);
  EXPECT_EQ(path.middle(3, 3), 3U);
}

TEST(FrontierPath, OfAProgramWithoutBlocksIsOnePosition) {
  const Program program = fakes::mlp({8, 8}, 2);
  const FrontierPath path = path_of(program);
  EXPECT_EQ(path.last(), 0U);
  EXPECT_THAT(path.storages(0), testing::IsEmpty());
}

}  // namespace
}  // namespace elixir::edit
