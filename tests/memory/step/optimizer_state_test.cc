// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "memory/step/optimizer_state.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "fakes/program_builder.h"

namespace elixir::memory {
namespace {

TEST(OptimizerState, IsTwoMomentsAndForNarrowParametersAMaster) {
  const auto wide = optimizer_state(fakes::mlp({4, 8}, 2), program::Optimizer::kAdamW);
  ASSERT_EQ(wide.size(), 4U);  // weight and bias
  EXPECT_EQ(wide[0].part, OptimizerPart::kMoment1);
  EXPECT_EQ(wide[0].bytes(), 4 * 8 * 4);
  EXPECT_EQ(wide[1].part, OptimizerPart::kMoment2);
  EXPECT_EQ(wide[2].parameter, 1);
  const auto narrow =
      optimizer_state(fakes::mlp({4, 8}, 2, program::DType::kBFloat16), program::Optimizer::kAdam);
  ASSERT_EQ(narrow.size(), 6U);
  EXPECT_EQ(narrow[0].part, OptimizerPart::kMaster);
  EXPECT_EQ(narrow[0].bytes(), 4 * 8 * 4);
  const auto double_precision =
      optimizer_state(fakes::mlp({4, 8}, 2, program::DType::kFloat64), program::Optimizer::kAdamW);
  EXPECT_EQ(double_precision[0].bytes(), 4 * 8 * 8);
  EXPECT_TRUE(optimizer_state(fakes::mlp({4, 8}, 2), program::Optimizer::kSgd).empty());
}

TEST(OptimizerState, OfTorchHasTheParametersDtype) {
  using program::Optimizer;
  using program::OptimizerForm;
  using program::OptimizerUse;
  const program::Program narrow = fakes::mlp({4, 8}, 2, program::DType::kBFloat16);
  const auto parts = [&](OptimizerUse use) {
    std::vector<std::pair<OptimizerPart, std::int64_t>> list;
    for (const OptimizerTensor& tensor : optimizer_state(narrow, use)) {
      if (tensor.parameter == 0) list.emplace_back(tensor.part, tensor.bytes());
    }
    return list;
  };
  constexpr std::int64_t kBytes = 4 * 8 * 2;
  using Parts = std::vector<std::pair<OptimizerPart, std::int64_t>>;
  const Parts moments{{OptimizerPart::kMoment1, kBytes}, {OptimizerPart::kMoment2, kBytes}};
  EXPECT_EQ(parts({Optimizer::kAdamW, OptimizerForm::kTorchForeach}), moments);
  EXPECT_EQ(parts({Optimizer::kAdam, OptimizerForm::kTorchLoop}), moments);
  EXPECT_EQ(parts({Optimizer::kAdamW, OptimizerForm::kTorchFused}),
            (Parts{{OptimizerPart::kStep, 4}, moments[0], moments[1]}));
  EXPECT_EQ(parts({Optimizer::kSgdMomentum, OptimizerForm::kTorchForeach}),
            (Parts{{OptimizerPart::kMomentum, kBytes}}));
  EXPECT_EQ(parts({Optimizer::kSgd, OptimizerForm::kTorchForeach}), Parts{});
  EXPECT_EQ(parts({Optimizer::kRmsprop, OptimizerForm::kTorchLoop}),
            (Parts{{OptimizerPart::kSquareAverage, kBytes}}));
  EXPECT_EQ(parts({Optimizer::kAdagrad, OptimizerForm::kTorchForeach}),
            (Parts{{OptimizerPart::kSum, kBytes}}));
  EXPECT_EQ(parts({Optimizer::kAdafactor, OptimizerForm::kTorchLoop}),
            (Parts{{OptimizerPart::kRowVariance, narrow.parameters[0].tensor.sizes[0] * 2},
                   {OptimizerPart::kColumnVariance, narrow.parameters[0].tensor.sizes[1] * 2}}));
  const auto of_bias =
      optimizer_state(narrow, {Optimizer::kAdafactor, OptimizerForm::kTorchForeach}).back();
  EXPECT_EQ(of_bias.part, OptimizerPart::kVariance);
  EXPECT_EQ(of_bias.bytes(), narrow.parameters.back().tensor.bytes());
}

}  // namespace
}  // namespace elixir::memory
