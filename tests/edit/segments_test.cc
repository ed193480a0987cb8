// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Blocks of programs in which nothing repeats, and of programs with several module lists.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edit/activations.h"
#include "edit/recompute.h"
#include "fakes/program_builder.h"
#include "symbolic_run.h"

namespace elixir::edit {
namespace {

using program::Operator;
using program::Program;
using program::TensorRef;
using tests::run_symbolically;
using tests::SymbolicResult;

constexpr std::int64_t kChainWidth = 16, kChainRows = 256;
constexpr int kChainLayers = 24;

/// Layers that are in no list: "layer_0", "layer_1", …, or items of several lists.
Program chain_of(const std::vector<std::string>& modules, bool skips = false) {
  fakes::ModelBuilder model;
  TensorRef x = model.raw().input("x", {kChainRows, kChainWidth}, program::DType::kFloat32);
  TensorRef early = x;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const TensorRef weight =
        model.raw().parameter(modules[i] + ".weight", {kChainWidth, kChainWidth});
    const TensorRef bias = model.raw().parameter(modules[i] + ".bias", {kChainWidth});
    model.raw().set_module(modules[i]);
    x = model.gelu(model.linear(x, weight, bias));
    x = model.gelu(x);
    if (i == 1) early = x;
    if (skips && i + 2 == modules.size()) x = model.add(x, early);
  }
  model.raw().set_module("");
  model.loss(x);
  return model.build();
}

std::vector<std::string> distinct_layers() {
  std::vector<std::string> modules;
  for (int i = 0; i < kChainLayers; ++i) modules.push_back("layer_" + std::to_string(i));
  return modules;
}

std::set<std::int32_t> blocks_in(const Program& program) {
  const std::vector<std::int32_t> block = blocks_of(program);
  std::set<std::int32_t> found(block.begin(), block.end());
  found.erase(-1);
  return found;
}

TEST(Segments, CutAChainIntoPartsThatFollowEachOther) {
  const Program program = chain_of(distinct_layers());
  const std::vector<std::int32_t> block = blocks_of(program);
  // About the root of the number of layers: as many bytes pass the cuts as a segment holds.
  EXPECT_GE(blocks_in(program).size(), 4U);
  EXPECT_LE(blocks_in(program).size(), 14U);
  std::int32_t current = 0;
  for (const Operator& op : program.operators) {
    if (op.phase == program::Phase::kBackward) {
      EXPECT_EQ(block[op.id], -1);
      continue;
    }
    EXPECT_GE(block[op.id], current);
    EXPECT_LE(block[op.id], current + 1);
    current = block[op.id];
  }
}

TEST(Segments, MadeAgainComputeTheSameInLessMemory) {
  for (const bool skips : {false, true}) {
    const Program program = chain_of(distinct_layers(), skips);
    const SymbolicResult before = run_symbolically(program);
    const Recomputed result = recompute(program, choose(program, Recompute::kBlocks));
    EXPECT_THAT(result.kept, testing::IsEmpty());
    const SymbolicResult after = run_symbolically(result.program);
    EXPECT_TRUE(after.computes_the_same_as(before));
    EXPECT_LT(kept_bytes(result.program), kept_bytes(program) / 3);
    EXPECT_LT(after.peak_bytes, before.peak_bytes);
  }
}

TEST(Segments, ThereAreNoneWhereACutSavesNothing) {
  EXPECT_THAT(blocks_in(fakes::mlp({8, 8}, 2)), testing::IsEmpty());
}

TEST(Blocks, AreTheItemsOfAllLists) {
  std::vector<std::string> modules;
  for (const std::string list : {"encoder.", "decoder."}) {
    for (int i = 0; i < 3; ++i) modules.push_back(list + std::to_string(i));
  }
  EXPECT_THAT(blocks_in(chain_of(modules)), testing::SizeIs(6));
}

TEST(Blocks, NestedListsBelongToTheOuterOne) {
  EXPECT_THAT(blocks_in(chain_of({"a.0.b.0", "a.0.b.1", "a.1.b.0", "a.1.b.1"})),
              testing::SizeIs(2));
  EXPECT_THAT(blocks_in(chain_of({"a.0.b.0", "a.0.b.1", "a.0.b.2"})), testing::SizeIs(3))
      << "a list of one item is none";
}

}  // namespace
}  // namespace elixir::edit
