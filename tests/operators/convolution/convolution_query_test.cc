// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/convolution/convolution_query.h"

#include <gtest/gtest.h>

#include <string>

namespace elixir::operators {
namespace {

const char* const kStem = "wgrad bf16 nhwc x=16,3,224,224 w=96,3,4,4 s=4,4 p=0,0 d=1,1 g=1";

TEST(ConvolutionQuery, IsReadAsItIsWritten) {
  const auto query = parse_convolution_query(kStem);
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->pass, ConvolutionPass::kFilterGradient);
  EXPECT_EQ(query->dtype, program::DType::kBFloat16);
  EXPECT_TRUE(query->channels_last);
  EXPECT_EQ(query->output(), (std::vector<std::int64_t>{16, 96, 56, 56}));
  EXPECT_EQ(text_of(*query), kStem);
}

TEST(ConvolutionQuery, KnowsVolumesGroupsAndDilation) {
  const auto query = parse_convolution_query(
      "fwd fp32 nchw x=2,8,9,20,20 w=16,2,3,3,3 s=1,2,2 p=1,0,0 d=1,2,2 g=4");
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->output(), (std::vector<std::int64_t>{2, 16, 9, 8, 8}));
}

TEST(ConvolutionQuery, RefusesWhatIsNoConvolution) {
  for (const char* text : {
           "",
           "fwd",
           "fwd bf16 nchw",
           "back bf16 nchw x=1,1,4,4 w=1,1,1,1 s=1,1 p=0,0 d=1,1 g=1",
           "fwd int8 nchw x=1,1,4,4 w=1,1,1,1 s=1,1 p=0,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4 w=1,1,1 s=1 p=0 d=1 g=1",
           "fwd bf16 nchw x=1,1,4,4 w=1,1,1 s=1,1 p=0,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4,4 w=1,1,1,1 s=1 p=0,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4,4 w=1,1,5,5 s=1,1 p=0,0 d=1,1 g=1",  // larger than the image
           "fwd bf16 nchw x=1,4,4,4 w=4,1,1,1 s=1,1 p=0,0 d=1,1 g=2",  // channels of two groups
           "fwd bf16 nchw x=1,1,4,4 w=1,1,1,1 s=0,1 p=0,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4,4 w=1,1,1,1 s=1,1 p=-1,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4,4, w=1,1,1,1 s=1,1 p=0,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4,99999999999999999999 w=1,1,1,1 s=1,1 p=0,0 d=1,1 g=1",
           "fwd bf16 nchw x=1,1,4,4 w=1,1,1,1 s=1,1 p=0,0 d=1,1 g=1 more",
       }) {
    EXPECT_FALSE(parse_convolution_query(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace elixir::operators
