// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/live_tensors.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "fakes/program_builder.h"

namespace elixir::report {
namespace {

using program::Category;

TEST(LiveTensors, MergesTensorsAlikeAndKeepsOthersApart) {
  fakes::ProgramBuilder builder(program::DType::kBFloat16);
  const auto a = builder.parameter("a", {256});
  const auto b = builder.parameter("b", {256});
  const auto c = builder.parameter("c", {16, 16});  // as large, another geometry
  const auto x = builder.call("aten::mm", {a}, {256});
  const auto y = builder.call("aten::mm", {b}, {256});
  const auto z = builder.call("aten::gelu", {c}, {256});
  builder.call("aten::add", {x, y, z}, {1});
  const program::Program program = builder.build();
  const auto found = live_tensors(program, memory::make_timeline(program, 0), "none");

  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].origin, "a");
  EXPECT_EQ(found[0].count, 2);
  EXPECT_EQ(found[0].category, Category::kParameter);
  EXPECT_EQ(found[0].tensor, "bfloat16[256]");
  EXPECT_EQ(found[1].tensor, "bfloat16[16,16]");
  EXPECT_EQ(found[1].count, 1);
  EXPECT_EQ(found[2].origin, "aten::mm in (model)");
  EXPECT_EQ(found[2].count, 2);
  EXPECT_EQ(found[3].origin, "aten::gelu in (model)");
  EXPECT_EQ(found[4].origin, "aten::add in (model)");
}

TEST(LiveTensors, HasOptimizerStateInItsOwnPrecision) {
  const program::Program program = fakes::mlp({64, 64}, 1, program::DType::kBFloat16);
  const auto timeline =
      memory::make_timeline(program, memory::optimizer_state_bytes(program, "adamw"));
  const auto found = live_tensors(program, timeline, "adamw");
  EXPECT_EQ(found.front().tensor, "float32[64,64]");
  EXPECT_EQ(found.front().origin, "master of layers.0.weight");
  EXPECT_EQ(found.front().count, 3);
}

TEST(LiveTensors, AddUpToThePeak) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const program::Program program = fakes::random_program(seed);
    const auto timeline =
        memory::make_timeline(program, memory::optimizer_state_bytes(program, "adam"));
    std::int64_t sum = 0;
    std::int64_t last = timeline.peak_bytes;
    for (const LiveTensors& live : live_tensors(program, timeline, "adam")) {
      EXPECT_LE(live.bytes, last);
      last = live.bytes;
      sum += live.bytes * live.count;
    }
    EXPECT_EQ(sum, timeline.peak_bytes) << seed;
  }
}

}  // namespace
}  // namespace elixir::report
