// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_state.h"

#include <gtest/gtest.h>

#include "fakes/program_builder.h"

namespace elixir::memory {
namespace {

TEST(OptimizerState, IsTwoMomentsAndForNarrowParametersAMaster) {
  const auto wide = optimizer_state(fakes::mlp({4, 8}, 2), program::Optimizer::kAdamW);
  ASSERT_EQ(wide.size(), 4U);  // weight and bias
  EXPECT_EQ(wide[0].part, OptimizerPart::kMoment1);
  EXPECT_EQ(wide[0].bytes, 4 * 8 * 4);
  EXPECT_EQ(wide[1].part, OptimizerPart::kMoment2);
  EXPECT_EQ(wide[2].parameter, 1);
  const auto narrow =
      optimizer_state(fakes::mlp({4, 8}, 2, program::DType::kBFloat16), program::Optimizer::kAdam);
  ASSERT_EQ(narrow.size(), 6U);
  EXPECT_EQ(narrow[0].part, OptimizerPart::kMaster);
  EXPECT_EQ(narrow[0].bytes, 4 * 8 * 4);
  const auto double_precision =
      optimizer_state(fakes::mlp({4, 8}, 2, program::DType::kFloat64), program::Optimizer::kAdamW);
  EXPECT_EQ(double_precision[0].bytes, 4 * 8 * 8);
  EXPECT_TRUE(optimizer_state(fakes::mlp({4, 8}, 2), program::Optimizer::kSgd).empty());
}

}  // namespace
}  // namespace elixir::memory
