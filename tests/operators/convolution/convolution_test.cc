// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which backend LibTorch takes, what it copies, and what cuDNN is asked.
#include "operators/convolution/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/operator_key.h"
#include "operators/scratch/call_script.h"
#include "program/workspace_answers.h"

#include "../scratch/single_call.h"

namespace elixir::operators {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

struct Geometry {
  Ints stride{1, 1}, padding{0, 0}, dilation{1, 1}, output_padding{0, 0};
  std::int64_t groups = 1;
  bool transposed = false, cudnn = true;
};

Call forward(TensorRef input, TensorRef weight, const Geometry& of = {}) {
  return Call("aten::_convolution")
      .tensor_argument(std::move(input))
      .tensor_argument(std::move(weight))
      .argument(program::None{})
      .argument(of.stride)
      .argument(of.padding)
      .argument(of.dilation)
      .argument(of.transposed)
      .argument(of.output_padding)
      .argument(of.groups)
      .argument(false)
      .argument(false)
      .argument(of.cudnn)
      .argument(true)
      .output(tensor({64}));
}

Call backward(
    TensorRef gradient, TensorRef input, TensorRef weight, Bools mask, const Geometry& of = {}) {
  Call call("aten::convolution_backward");
  call.tensor_argument(std::move(gradient))
      .tensor_argument(std::move(input))
      .tensor_argument(std::move(weight))
      .argument(program::None{})
      .argument(of.stride)
      .argument(of.padding)
      .argument(of.dilation)
      .argument(of.transposed)
      .argument(of.output_padding)
      .argument(of.groups)
      .argument(mask);
  for (const bool wanted : mask) {
    if (wanted) call.output(tensor({64}));
  }
  return call;
}

Words asked(const Call& call) {
  Words texts;
  for (const ConvolutionQuery& query : unknown_convolutions(call.program(), {})) {
    texts.push_back(text_of(query));
  }
  return texts;
}

/// The script when cuDNN wants 1000, 2000, … bytes for the queries, in order.
Words script(const Call& call) {
  WorkspaceTable table;
  std::int64_t bytes = 0;
  for (const ConvolutionQuery& query : unknown_convolutions(call.program(), {})) {
    table.queries[text_of(query)] = bytes += 1000;
  }
  return call.script(table);
}

TEST(Convolution, AsksForOnePassAndTakesItsWorkspaceAfterTheResult) {
  const Call call = forward(tensor({2, 8, 16, 16}), tensor({4, 8, 3, 3}), {.padding = {1, 1}});
  EXPECT_THAT(asked(call),
              ElementsAre("fwd fp32 nchw x=2,8,16,16 w=4,8,3,3 s=1,1 p=1,1 d=1,1 g=1"));
  EXPECT_THAT(script(call), ElementsAre("o2", "+1000", "-0"));
}

TEST(Convolution, OfSequencesIsOneOfImagesOfHeightOne) {
  const Call call =
      forward(tensor({2, 8, 100}),
              tensor({4, 8, 5}),
              {.stride = {2}, .padding = {2}, .dilation = {1}, .output_padding = {0}});
  EXPECT_THAT(asked(call),
              ElementsAre("fwd fp32 nchw x=2,8,1,100 w=4,8,1,5 s=1,2 p=0,2 d=1,1 g=1"));
}

TEST(Convolution, TransposedIsTheGradientOfTheInput) {
  const Call call = forward(tensor({2, 8, 4, 4}),
                            tensor({8, 16, 2, 2}),
                            {.stride = {2, 2}, .output_padding = {1, 1}, .transposed = true});
  EXPECT_THAT(asked(call),
              ElementsAre("dgrad fp32 nchw x=2,16,9,9 w=8,16,2,2 s=2,2 p=0,0 d=1,1 g=1"));
}

TEST(Convolution, CopiesWhatIsInAnotherFormat) {
  const Call call = forward(channels_last({2, 8, 16, 16}), tensor({4, 8, 3, 3}));
  EXPECT_THAT(asked(call),
              ElementsAre("fwd fp32 nhwc x=2,8,16,16 w=4,8,3,3 s=1,1 p=0,0 d=1,1 g=1"));
  EXPECT_THAT(script(call), ElementsAre("o2", "+1152", "+1000", "-1", "-0"));
  const Call filter_leads = forward(tensor({2, 8, 16, 16}), channels_last({4, 8, 3, 3}));
  EXPECT_THAT(script(filter_leads), ElementsAre("+16384", "o2", "+1000", "-1", "-0"));
}

TEST(Convolution, OfDoublesNeverHasChannelsLast) {
  const Call call = forward(channels_last({2, 8, 16, 16}, DType::kFloat64),
                            tensor({4, 8, 3, 3}, DType::kFloat64));
  EXPECT_THAT(asked(call),
              ElementsAre("fwd fp64 nchw x=2,8,16,16 w=4,8,3,3 s=1,1 p=0,0 d=1,1 g=1"));
}

TEST(Convolution, BackwardAsksForTheWantedGradients) {
  const TensorRef gradient = tensor({2, 4, 14, 14}), input = tensor({2, 8, 16, 16});
  const TensorRef weight = tensor({4, 8, 3, 3});
  EXPECT_THAT(asked(backward(gradient, input, weight, {true, true, false})),
              ElementsAre("dgrad fp32 nchw x=2,8,16,16 w=4,8,3,3 s=1,1 p=0,0 d=1,1 g=1",
                          "wgrad fp32 nchw x=2,8,16,16 w=4,8,3,3 s=1,1 p=0,0 d=1,1 g=1"));
  EXPECT_THAT(script(backward(gradient, input, weight, {true, true, true})),
              ElementsAre("o3", "+1000", "-0", "o4", "+2000", "-1", "o5"));
  EXPECT_THAT(script(backward(gradient, input, weight, {false, true, false})),
              ElementsAre("o3", "+1000", "-0"));
  EXPECT_TRUE(asked(backward(gradient, input, weight, {false, false, true})).empty());
}

TEST(Convolution, BackwardOfATransposedOneAsksForTheConvolution) {
  const Call call = backward(tensor({2, 16, 8, 8}),
                             tensor({2, 8, 4, 4}),
                             tensor({8, 16, 2, 2}),
                             {true, true, false},
                             {.stride = {2, 2}, .transposed = true});
  EXPECT_THAT(asked(call),
              ElementsAre("fwd fp32 nchw x=2,16,8,8 w=8,16,2,2 s=2,2 p=0,0 d=1,1 g=1",
                          "wgrad fp32 nchw x=2,16,8,8 w=8,16,2,2 s=2,2 p=0,0 d=1,1 g=1"));
}

TEST(Convolution, DepthwiseInRowMajorOrderIsLibtorchsOwn) {
  const Geometry depthwise{.padding = {1, 1}, .groups = 32};
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const Call call =
        forward(tensor({2, 32, 16, 16}, dtype), tensor({32, 1, 3, 3}, dtype), depthwise);
    EXPECT_TRUE(asked(call).empty());
    EXPECT_THAT(call.script(), ElementsAre("o2"));
  }
  // cuDNN has better kernels for some of half precision, and all with channels last.
  EXPECT_EQ(asked(forward(tensor({2, 32, 16, 16}, DType::kFloat16),
                          tensor({32, 1, 3, 3}, DType::kFloat16),
                          depthwise))
                .size(),
            1U);
  EXPECT_TRUE(asked(forward(tensor({2, 32, 16, 16}, DType::kFloat16),
                            tensor({32, 1, 7, 7}, DType::kFloat16),
                            depthwise))
                  .empty());
  EXPECT_EQ(asked(forward(channels_last({2, 32, 16, 16}), tensor({32, 1, 3, 3}), depthwise)).size(),
            1U);
}

TEST(Convolution, DepthwiseBackwardMakesTheGradientOfTheFilterFirst) {
  const TensorRef images = tensor({2, 32, 16, 16});
  const Geometry depthwise{.padding = {1, 1}, .groups = 32};
  EXPECT_THAT(
      backward(images, images, tensor({32, 1, 3, 3}), {true, true, true}, depthwise).script(),
      ElementsAre("o4", "o3", "o5"));
  TensorRef gaps = images;  // every second image
  gaps.strides[0] *= 2;
  EXPECT_THAT(backward(gaps, gaps, tensor({32, 1, 3, 3}), {true, true, false}, depthwise).script(),
              ElementsAre("+65536", "+65536", "o4", "-1", "o3", "-0"));
}

// As an H200 was seen to do it.
TEST(Convolution, SequencesThatAreNotContiguousAreCopiedFirst) {
  const auto with_strides = [](TensorRef tensor, std::vector<std::int64_t> strides) {
    tensor.strides = std::move(strides);
    return tensor;
  };
  const Geometry depthwise{
      .stride = {2}, .padding = {1}, .dilation = {2}, .output_padding = {0}, .groups = 3};
  const TensorRef gradient = with_strides(tensor({3, 6, 3}), {3, 9, 1});
  const TensorRef input = with_strides(tensor({3, 3, 4}), {0, 4, 1});
  EXPECT_THAT(backward(gradient, input, tensor({6, 1, 1}), {true, true, false}, depthwise).script(),
              ElementsAre("+144", "+216", "o4", "o3", "-1", "-0"));
  // Not one with channels last, though its image would look like it.
  const TensorRef turned = with_strides(tensor({2, 8, 16}), {128, 1, 8});
  const Call call =
      forward(turned,
              tensor({4, 8, 3}),
              {.stride = {1}, .padding = {1}, .dilation = {1}, .output_padding = {0}});
  EXPECT_THAT(asked(call), ElementsAre("fwd fp32 nchw x=2,8,1,16 w=4,8,1,3 s=1,1 p=0,1 d=1,1 g=1"));
}

TEST(Convolution, WithoutAnswersIsModelled) {
  const Call call = forward(tensor({2, 8, 16, 16}), tensor({4, 8, 3, 3}));
  EXPECT_EQ(call.source(), ScriptSource::kModelled);
  EXPECT_THAT(call.script(), ElementsAre("o2", "+17536", "-0"));  // the bytes that it reads
  WorkspaceTable table;
  table.queries[asked(call).at(0)] = 0;
  EXPECT_EQ(call.source(table), ScriptSource::kMeasured);
  EXPECT_THAT(call.script(table), ElementsAre("o2"));
}

TEST(Convolution, TakesTheAnswersOfItsProgram) {
  const Call call = forward(tensor({2, 8, 16, 16}), tensor({4, 8, 3, 3}));
  for (const bool measured : {false, true}) {
    Program program = call.program();
    program.workspaces =
        std::make_shared<const program::WorkspaceAnswers>(program::WorkspaceAnswers{
            .source = "cuDNN", .measured = measured, .bytes = {{asked(call).at(0), 4096}}});
    const CallScript script = call_scripts(program, cuda_traits(kHopper), {}).at(0);
    ASSERT_EQ(script.steps.size(), 3U);
    EXPECT_EQ(script.steps[1].bytes, 4096);
    EXPECT_EQ(script.source, measured ? ScriptSource::kMeasured : ScriptSource::kModelled);
  }
}

TEST(Convolution, AnswersOfATableOfOtherLibrariesAreModelled) {
  const Call call = forward(tensor({2, 8, 16, 16}), tensor({4, 8, 3, 3}));
  WorkspaceTable table;
  table.queries[asked(call).at(0)] = 4096;
  table.libraries = "LibTorch 2.10.0+cu128, cuDNN 9.10";
  EXPECT_EQ(call.source(table), ScriptSource::kModelled);
  EXPECT_THAT(call.script(table), ElementsAre("o2", "+4096", "-0"));
}

TEST(Convolution, PassesSayWhoKnowsTheirWorkspace) {
  const TensorRef input = tensor({2, 8, 16, 16});
  const Call call =
      backward(tensor({2, 4, 14, 14}), input, tensor({4, 8, 3, 3}), {true, true, false});
  const Words queries = asked(call);
  ASSERT_EQ(queries.size(), 2U);
  Program program = call.program();
  const auto passes = [&](const WorkspaceTable& table) {
    return passes_of(program.operators[0], program, table);
  };
  EXPECT_EQ(passes({}).unanswered, 2);
  EXPECT_EQ(passes({}).guessed(), 2);
  program.workspaces = std::make_shared<const program::WorkspaceAnswers>(program::WorkspaceAnswers{
      .source = "cuDNN", .measured = false, .bytes = {{queries[1], 4096}}});
  EXPECT_EQ(passes({}).by_library, 1);
  EXPECT_EQ(passes({}).unanswered, 1);
  WorkspaceTable table;
  table.queries[queries[0]] = 1;
  EXPECT_EQ(passes(table).by_table, 1);
  EXPECT_EQ(passes(table).guessed(), 0);
  table.calls[operator_key(program.operators[0])] = {};
  EXPECT_EQ(passes(table).by_table, 1) << "the call as a whole";
  EXPECT_EQ(passes(table).by_library, 0);
  const Program other = forward(input, tensor({4, 8, 2, 2}), {.cudnn = false}).program();
  EXPECT_EQ(passes_of(other.operators[0], other, {}).other, 1) << "not cuDNN's";
  const Program none = Call("aten::relu").tensor_argument(input).output(input).program();
  EXPECT_EQ(passes_of(none.operators[0], none, {}).guessed(), 0);
}

TEST(Convolution, WhatCudnnDoesNotRunIsEstimated) {
  const TensorRef input = tensor({2, 8, 4, 4}), weight = tensor({8, 16, 2, 2});
  const Geometry big{.output_padding = {1, 1}, .transposed = true};  // as large as the stride
  EXPECT_TRUE(asked(forward(input, weight, big)).empty());
  EXPECT_EQ(forward(input, weight, big).source(), ScriptSource::kModelled);
  EXPECT_TRUE(asked(forward(input, tensor({4, 8, 2, 2}), {.cudnn = false})).empty());
  // Documents may hold what LibTorch would refuse.
  EXPECT_TRUE(asked(forward(tensor({8, 4}), tensor({4, 8}))).empty());
  EXPECT_TRUE(asked(forward(input, weight, {.stride = {1, 1, 1}})).empty());
  EXPECT_TRUE(asked(forward(input, weight, {.stride = {0, 1}})).empty());
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_TRUE(asked(forward(input, weight, {.stride = {huge, 1}, .transposed = true})).empty());
  EXPECT_TRUE(asked(forward(input, weight, {.padding = {huge, 1}})).empty());
  EXPECT_TRUE(asked(forward(input, tensor({4, 8, 9, 9}))).empty());
  EXPECT_TRUE(
      asked(backward(tensor({2, 8}), input, tensor({4, 8, 2, 2}), {true, true, true})).empty());
}

TEST(Convolution, KnownCallsAndQueriesAreNotAskedAgain) {
  const Call call = forward(tensor({2, 8, 16, 16}), tensor({4, 8, 3, 3}));
  WorkspaceTable table;
  table.queries[asked(call).at(0)] = 1;
  EXPECT_TRUE(unknown_convolutions(call.program(), table).empty());
  Program twice = call.program();
  twice.operators.push_back(twice.operators[0]);
  twice.operators[1].id = 1;
  EXPECT_EQ(unknown_convolutions(twice, {}).size(), 1U);
}

}  // namespace
}  // namespace elixir::operators
