// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/analysis/operator_memory.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "fakes/program_builder.h"

namespace elixir::memory {
namespace {

TEST(OperatorMemory, SumsCallsOfOneNameAndSortsByBytesMade) {
  fakes::ProgramBuilder builder;
  const auto x = builder.input("x", {128}, program::DType::kFloat32);
  const auto kept = builder.call("aten::b", {x}, {256}, 5);
  const auto passing = builder.call("aten::b", {kept}, {1}, 6);
  builder.call("aten::c", {passing}, {128 * 3});
  builder.call("aten::a", {passing}, {128 * 3});
  builder.start_backward();
  builder.call("aten::d", {kept}, {128});
  const program::Program program = builder.build();
  const auto operators = operator_memory(program, make_timeline(program, 0));

  ASSERT_EQ(operators.size(), 4U);
  EXPECT_EQ(operators[0].name, "aten::a");  // three of 3 blocks: ties by name
  EXPECT_EQ(operators[1].name, "aten::b");
  EXPECT_EQ(operators[2].name, "aten::c");
  EXPECT_EQ(operators[1].calls, 2);
  EXPECT_EQ(operators[1].made_bytes, 3 * 512);
  EXPECT_EQ(operators[1].activations_bytes, 2 * 512);
  EXPECT_EQ(operators[1].flops, 11);
  EXPECT_EQ(operators[1].peak_bytes, (1 + 2 + 1) * 512);
  EXPECT_EQ(operators[3].name, "aten::d");
  EXPECT_EQ(operators[3].activations_bytes, 0);
}

TEST(OperatorMemory, RefusesTheTimelineOfAnotherProgram) {
  EXPECT_THROW((void)operator_memory(fakes::mlp({4, 4}, 2), Timeline{}), Error);
}

}  // namespace
}  // namespace elixir::memory
