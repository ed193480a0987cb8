// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/names/dtype_names.h"

#include <gtest/gtest.h>

namespace elixir::program {
namespace {

TEST(DtypeNames, OfOtherProgramsAreTranslated) {
  EXPECT_EQ(dtype_meant_by("long"), "int64");
  EXPECT_EQ(dtype_meant_by("torch.long"), "int64");
  EXPECT_EQ(dtype_meant_by("torch.int64"), "int64");
  EXPECT_EQ(dtype_meant_by("BF16"), "bfloat16");
  EXPECT_EQ(dtype_meant_by("half"), "float16");
  EXPECT_EQ(dtype_meant_by("int64"), std::nullopt);
  EXPECT_EQ(dtype_meant_by("longest"), std::nullopt);
}

TEST(DtypeNames, AWrongInputIsAnsweredWithTheRightOne) {
  EXPECT_EQ(help_for_input("input_ids:long[2,128]"),
            "`long` is called `int64` here: --input input_ids:int64[2,128]");
  EXPECT_EQ(help_for_input("input_ids"), "for example --input input_ids:int64[2,128]");
  EXPECT_EQ(help_for_input("x:int64[2"), "for example --input input_ids:int64[2,128]");
  EXPECT_EQ(help_for_input("[:"), "for example --input input_ids:int64[2,128]");
}

}  // namespace
}  // namespace elixir::program
