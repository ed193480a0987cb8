// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include <gtest/gtest.h>

#include "model/options.h"

namespace elixir::model {
namespace {

TEST(InputSpec, ReadsNameDtypeAndSizes) {
  const auto spec = InputSpec::parse("input_ids:int64[2,128]");
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "input_ids");
  EXPECT_EQ(spec->dtype, program::DType::kInt64);
  EXPECT_EQ(spec->sizes, (std::vector<std::int64_t>{2, 128}));
}

TEST(InputSpec, ReadsAScalar) {
  const auto spec = InputSpec::parse("x:float32[]");
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->sizes.empty());
}

TEST(InputSpec, RefusesWhatIsMalformed) {
  for (const char* text : {"",
                           "x",
                           "x:int64",
                           "x:int64[2",
                           "x:int64[2,]",
                           "x:int64[,2]",
                           "x:int64[-2]",
                           "x:int64[2,a]",
                           "x:int63[2]",
                           ":int64[2]",
                           "x[2]:int64",
                           "x:int64[2]]",
                           "x:int64[99999999999999999999]"}) {
    EXPECT_FALSE(InputSpec::parse(text)) << text;
  }
}

}  // namespace
}  // namespace elixir::model
