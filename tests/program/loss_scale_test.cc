// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/loss_scale.h"

#include <string>

#include <gtest/gtest.h>

namespace elixir::program {
namespace {

/// A program with one trained parameter. Its backward makes one tensor.
Program with(DType parameter, DType backward) {
  Program program;
  Parameter weight;
  weight.name = "head.weight";
  weight.tensor.dtype = parameter;
  weight.gradient = weight.tensor;
  program.parameters = {weight};
  Operator forward, op;
  forward.name = "aten::relu";
  op.name = "aten::mm";
  op.phase = Phase::kBackward;
  TensorRef made;
  made.dtype = backward;
  op.outputs = {made};
  program.operators = {forward, op};
  return program;
}

TEST(LossScale, IsNeededForFloat16GradientsAlone) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    EXPECT_FALSE(needs_loss_scale(with(dtype, dtype)));
  }
  EXPECT_EQ(needs_loss_scale(with(DType::kFloat16, DType::kFloat32)),
            "the gradient of `head.weight` is float16");
  EXPECT_EQ(needs_loss_scale(with(DType::kFloat32, DType::kFloat16)),
            "`aten::mm` in backward makes float16 gradients");
  Program forward_alone = with(DType::kFloat32, DType::kFloat16);
  forward_alone.operators[1].phase = Phase::kForward;
  EXPECT_FALSE(needs_loss_scale(forward_alone));
}

}  // namespace
}  // namespace elixir::program
