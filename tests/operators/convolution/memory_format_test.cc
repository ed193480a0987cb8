// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The expected values are those of LibTorch's suggest_memory_format() and is_contiguous().
#include "operators/convolution/memory_format.h"

#include <gtest/gtest.h>

namespace elixir::operators {
namespace {

using program::Ints;
using program::TensorRef;

TensorRef strided(Ints sizes, Ints strides) {
  TensorRef tensor;
  tensor.sizes = std::move(sizes);
  tensor.strides = std::move(strides);
  return tensor;
}

TEST(MemoryFormat, IsSeenInTheStrides) {
  EXPECT_FALSE(suggests_channels_last(strided({2, 3, 4, 5}, {60, 20, 5, 1})));
  EXPECT_TRUE(suggests_channels_last(strided({2, 3, 4, 5}, {60, 1, 15, 3})));
  EXPECT_TRUE(suggests_channels_last(strided({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3})));
  EXPECT_FALSE(suggests_channels_last(strided({2, 3, 4}, {12, 1, 3})));  // a sequence has none
  // With gaps, as tokens of which the first is left out.
  EXPECT_TRUE(suggests_channels_last(strided({16, 768, 14, 14}, {151296, 1, 10752, 768})));
}

TEST(MemoryFormat, IsRowMajorWhereBothFormatsAreTheSame) {
  EXPECT_FALSE(suggests_channels_last(strided({7, 1, 1, 1}, {1, 1, 1, 1})));
  EXPECT_FALSE(suggests_channels_last(strided({2, 3, 4, 5}, {0, 0, 0, 0})));
  EXPECT_TRUE(is_dense_in(strided({2, 1, 4, 5}, {20, 20, 5, 1}), true));
  EXPECT_TRUE(is_dense_in(strided({2, 1, 4, 5}, {20, 20, 5, 1}), false));
}

TEST(MemoryFormat, OneBlockIsDense) {
  const TensorRef tokens = strided({16, 768, 14, 14}, {151296, 1, 10752, 768});
  EXPECT_FALSE(is_dense_in(tokens, true));
  EXPECT_FALSE(is_dense_in(tokens, false));
  EXPECT_EQ(dense_in(tokens, true).strides, (Ints{150528, 1, 10752, 768}));
  EXPECT_EQ(dense_in(tokens, false).strides, (Ints{150528, 196, 14, 1}));
  EXPECT_FALSE(is_dense_in(strided({2, 3, 4}, {12, 1, 3}), true));
}

}  // namespace
}  // namespace elixir::operators
