// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/trainable.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "fakes/program_builder.h"

namespace elixir::program {
namespace {

using testing::HasSubstr;

std::optional<ErrorInfo> refusal(const Program& program) {
  try {
    refuse_untrainable(program);
  } catch (const Error& error) {
    return error.info();
  }
  return std::nullopt;
}

TEST(Trainable, IsAnOrdinaryNetwork) {
  EXPECT_FALSE(refusal(fakes::mlp({8, 8}, 2)));
  EXPECT_FALSE(refusal(fakes::mlp({8, 8}, 2, DType::kBFloat16)));
}

TEST(Trainable, IsNoParameterOfAnotherDType) {
  Program program = fakes::mlp({8, 8}, 2);
  program.parameters[0].tensor.dtype = DType::kFloat64;
  ASSERT_TRUE(refusal(program));
  EXPECT_EQ(refusal(program)->code, ErrorCode::kUnsupportedModel);
  EXPECT_THAT(refusal(program)->message, HasSubstr(program.parameters[0].name));
  program.parameters[0].gradient.reset();
  EXPECT_FALSE(refusal(program)) << "it stays as it is";
  program.parameters[0].tensor.dtype = DType::kComplex64;
  EXPECT_TRUE(refusal(program)) << "no plan has such chunks";
}

TEST(Trainable, IsNoParameterOrInputThatAnOperatorWrites) {
  const Program program = fakes::mlp({8, 8}, 2);
  for (const TensorRef& kept : {program.parameters[0].tensor, program.inputs[0].tensor}) {
    Program writes = program;
    TensorRef written = kept;
    written.version = 1;
    writes.operators[0].outputs = {written};
    ASSERT_TRUE(refusal(writes));
    EXPECT_THAT(refusal(writes)->message, HasSubstr("in place"));
  }
}

}  // namespace
}  // namespace elixir::program
