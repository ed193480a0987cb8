// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/profile/live_tensors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fakes/program_builder.h"
#include "memory/step/training_step.h"

namespace elixir::report {
namespace {

using program::Category;

std::vector<LiveTensors> live_in(const program::Program& program, program::Optimizer optimizer) {
  return live_tensors(program, memory::predict_step(program, optimizer, {}, {}).timeline);
}

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
  const auto found = live_in(program, program::Optimizer::kNone);

  ASSERT_EQ(found.size(), 5U);
  EXPECT_EQ(found[0].origin, "a");
  EXPECT_EQ(found[0].count, 2);
  EXPECT_EQ(found[0].layer, Category::kParameter);
  EXPECT_EQ(found[0].tensor, "bfloat16[256]");
  EXPECT_EQ(found[1].origin, "aten::mm in (model)");  // two of one size are more than one
  EXPECT_EQ(found[1].count, 2);
  EXPECT_EQ(found[2].tensor, "bfloat16[16,16]");
  EXPECT_EQ(found[2].count, 1);
  EXPECT_EQ(found[3].origin, "aten::gelu in (model)");
  EXPECT_EQ(found[4].origin, "aten::add in (model)");
}

TEST(LiveTensors, HasOptimizerStateInItsOwnPrecision) {
  const program::Program program = fakes::mlp({64, 64}, 1, program::DType::kBFloat16);
  const auto found = live_in(program, program::Optimizer::kAdamW);
  EXPECT_EQ(found.front().tensor, "float32[64,64]");
  EXPECT_EQ(found.front().origin, "master of layers.0.weight");
  EXPECT_EQ(found.front().count, 3);
}

TEST(LiveTensors, NameScratchMemoryByItsCall) {
  program::Program program = fakes::mlp({64, 64}, 8);
  program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
  const auto found = live_in(program, program::Optimizer::kNone);
  EXPECT_FALSE(found[0].layer.has_value());
  EXPECT_EQ(found[0].bytes, 32 << 20);
  EXPECT_EQ(found[0].origin, "aten::addmm in (model), kept by its library");
}

TEST(LiveTensors, AddUpToThePeak) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    program::Program program = fakes::random_program(seed);
    if (seed % 2 == 0) program.target = {.kind = program::Target::Kind::kCuda, .sm = 90};
    const std::int64_t peak =
        memory::predict_step(program, program::Optimizer::kAdam, {}, {}).timeline.peak_bytes;
    std::int64_t sum = 0;
    std::int64_t last = peak;
    for (const LiveTensors& live : live_in(program, program::Optimizer::kAdam)) {
      EXPECT_LE(live.together_bytes, last);
      last = live.together_bytes;
      EXPECT_LE(live.together_bytes, live.bytes * live.count);
      sum += live.together_bytes;
    }
    EXPECT_EQ(sum, peak) << seed;
  }
}

}  // namespace
}  // namespace elixir::report
