// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Workspaces that cuDNN 9.19 named without a GPU, and those that it named on an H100.
#include "operators/convolution/engine_workspace.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace elixir::operators {
namespace {

constexpr int kMultiprocessors = 132;

ConvolutionQuery query_of(const std::string& text) {
  const auto query = parse_convolution_query(text);
  EXPECT_TRUE(query.has_value()) << text;
  return query.value_or(ConvolutionQuery{});
}

/// Knobs of an engine that may split tiles.
std::vector<EngineKnob> tiles(std::int64_t tile,
                              std::int64_t without_split,
                              std::int64_t rows,
                              std::int64_t columns) {
  return {{2, tile}, {13, 0}, {18, 1}, {25, without_split}, {27, rows}, {28, columns}};
}

TEST(EngineWorkspace, TilesThatAreLeftOverAreSplit) {
  const auto query =
      query_of("wgrad fp32 nchw x=4,64,16,56,56 w=64,64,3,3,3 s=1,1,1 p=1,1,1 d=1,1,1 g=1");
  const ConvolutionEngine engine{.engine = 68,
                                 .knobs = tiles(5, 0, 1, 1),
                                 .bytes = 103497939,
                                 .bytes_by_multiprocessors = {103202963,
                                                              103235767,
                                                              103202963,
                                                              103202963,
                                                              103268539,
                                                              103301311,
                                                              103202963,
                                                              103301311,
                                                              103202963,
                                                              103202963,
                                                              103366855,
                                                              103399639,
                                                              103416043,
                                                              103202832,
                                                              103202832,
                                                              103202832,
                                                              103202832,
                                                              103497939}};
  EXPECT_EQ(workspace_on(query, engine, kMultiprocessors), 104972787);  // 27 tiles in 4 parts each
}

TEST(EngineWorkspace, TheLimitOfPartsIsReadOffFewMultiprocessors) {
  const auto query = query_of("wgrad fp32 nhwc x=4,512,28,28 w=512,512,3,3 s=2,2 p=1,1 d=1,1 g=1");
  // 144 tiles: 12 are left over on 132 multiprocessors, of which each could have 11.
  std::vector<std::int64_t> known;
  for (int number = 1; number <= 18; ++number) {
    const int left = 144 % number;
    const int parts = left == 0 ? 1 : std::min(number / left, 2);
    const std::int64_t full = 144 / number >= 2 ? 4 : 0;
    known.push_back(parts < 2 ? 131 : left * 2 * 65536 + 159 + 4 * left + full);
  }
  const ConvolutionEngine engine{.engine = 68,
                                 .knobs = tiles(0, 0, 1, 1),
                                 .bytes = known.back(),
                                 .bytes_by_multiprocessors = known};
  EXPECT_EQ(workspace_on(query, engine, kMultiprocessors), 12 * 2 * 65536 + 159 + 4 * 12);
}

TEST(EngineWorkspace, ACounterIsLeftOutWhereTwoWavesDo) {
  const auto query = query_of("fwd bf16 nchw x=1,128,128,128 w=128,128,3,3 s=1,1 p=1,1 d=1,1 g=1");
  const std::vector<std::int64_t> known = [] {
    std::vector<std::int64_t> bytes(18, 8683667);
    bytes[0] = -1;  // a cluster of two
    return bytes;
  }();
  const ConvolutionEngine engine{.engine = 62,
                                 .knobs = {{2, 4}, {13, 1}, {18, 0}, {25, 0}, {27, 1}, {28, 2}},
                                 .bytes = 8683667,
                                 .bytes_by_multiprocessors = known};
  EXPECT_EQ(workspace_on(query, engine, kMultiprocessors), 8683536);
}

TEST(EngineWorkspace, ProductsOfCublasltKeepDescriptors) {
  ConvolutionEngine engine{.engine = 58, .knobs = {{25, 1}}, .bytes = 0};
  EXPECT_EQ(
      workspace_on(
          query_of("fwd bf16 nchw x=2,64,14,14 w=64,64,1,1 s=1,1 p=0,0 d=1,1 g=1"), engine, 132),
      0);  // rows of 392 bytes
  EXPECT_EQ(
      workspace_on(
          query_of("fwd bf16 nchw x=2,64,16,16 w=64,64,1,1 s=1,1 p=0,0 d=1,1 g=1"), engine, 132),
      272);
  EXPECT_EQ(
      workspace_on(
          query_of("fwd fp32 nchw x=2,64,14,14 w=64,64,1,1 s=1,1 p=0,0 d=1,1 g=1"), engine, 132),
      400);
  engine.knobs[0].value = 0;
  EXPECT_EQ(
      workspace_on(
          query_of("fwd fp32 nchw x=2,64,14,14 w=64,64,1,1 s=1,1 p=0,0 d=1,1 g=1"), engine, 132),
      0);
}

TEST(EngineWorkspace, DepthwiseGradientsOfFiltersAreCompiledOnTheGpu) {
  const ConvolutionEngine offered{.engine = 10, .bytes = 155938615};
  EXPECT_EQ(
      workspace_on(query_of("wgrad bf16 nhwc x=32,96,56,56 w=96,1,3,3 s=1,1 p=1,1 d=1,1 g=96"),
                   offered,
                   kMultiprocessors),
      884736);
  EXPECT_EQ(
      workspace_on(query_of("wgrad bf16 nhwc x=4,768,10,10 w=768,1,7,7 s=1,1 p=3,3 d=1,1 g=768"),
                   offered,
                   kMultiprocessors),
      0);
  EXPECT_EQ(
      workspace_on(query_of("wgrad fp32 nhwc x=32,96,56,56 w=96,1,3,3 s=1,1 p=1,1 d=1,1 g=96"),
                   offered,
                   kMultiprocessors),
      offered.bytes);
}

TEST(EngineWorkspace, OtherEnginesTakeWhatCudnnSays) {
  const auto query = query_of("fwd bf16 nchw x=16,3,224,224 w=96,3,4,4 s=4,4 p=0,0 d=1,1 g=1");
  const ConvolutionEngine plain{.engine = 1, .knobs = {{2, 0}, {3, 0}}, .bytes = 192};
  EXPECT_EQ(workspace_on(query, plain, kMultiprocessors), 192);
  ConvolutionEngine unknown_tile{.engine = 62,
                                 .knobs = tiles(99, 0, 1, 1),
                                 .bytes = 131,
                                 .bytes_by_multiprocessors = std::vector<std::int64_t>(18, 131)};
  EXPECT_EQ(workspace_on(query, unknown_tile, kMultiprocessors), 131);
}

TEST(EngineWorkspace, WhatIsNotUnderstoodIsTakenForTheMost) {
  const auto query = query_of("wgrad fp32 nchw x=4,64,56,56 w=64,64,3,3 s=1,1 p=1,1 d=1,1 g=1");
  std::vector<std::int64_t> known(18, 131);
  known[4] = 777777;
  const ConvolutionEngine engine{
      .engine = 68, .knobs = tiles(0, 0, 1, 1), .bytes = 131, .bytes_by_multiprocessors = known};
  EXPECT_EQ(workspace_on(query, engine, kMultiprocessors), 131 + 132 * 65536);
}

}  // namespace
}  // namespace elixir::operators
