// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Compares scripts of single calls with allocations recorded on an H200 (LibTorch 2.11, cuDNN
// 9.19). The numbers here are the device's.
#include "operators/scratch/call_script.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fakes/program_builder.h"
#include "operators/operator_key.h"
#include "operators/scratch/reduction_scratch.h"
#include "single_call.h"

namespace elixir::operators {
namespace {

/// The scratch memory of a reduction that is one kernel.
ReductionScratch scratch_of_one_kernel(const program::TensorRef& input,
                                       const Ints& dimensions,
                                       std::int64_t accumulator_bytes,
                                       const CudaTraits& traits) {
  const std::int64_t bytes = program::element_bytes(input.dtype);
  const ReductionRequests requests = reduction_requests(
      input,
      dimensions,
      {.input_bytes = bytes, .result_bytes = bytes, .accumulator_bytes = accumulator_bytes},
      traits);
  EXPECT_LE(requests.kernels.size(), 1U);
  return requests.kernels.empty() ? ReductionScratch{} : requests.kernels.front();
}

using Words = std::vector<std::string>;

TEST(ReductionScratch, IsWhatTheDeviceTook) {
  const operators::CudaTraits traits = operators::cuda_traits(kHopper);
  struct Case {
    Ints sizes;
    std::int64_t buffer, semaphores;
  };
  // Bias gradients: sums of the rows of (tokens, width).
  for (const Case& c : {Case{{1024, 768}, 6291456, 24},
                        Case{{1024, 2304}, 18874368, 72},
                        Case{{1024, 3072}, 25165824, 96},
                        Case{{4096, 768}, 25165824, 24},
                        Case{{4096, 3072}, 100663296, 96},
                        Case{{4096, 1024}, 33554432, 32},
                        Case{{3152, 768}, 19660800, 24},
                        Case{{4096, 30522}, 23440896, 1908}}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      const operators::ReductionScratch scratch =
          scratch_of_one_kernel(tensor(c.sizes, dtype), {0}, 4, traits);
      EXPECT_EQ(scratch.buffer_bytes, c.buffer) << c.sizes[0] << " x " << c.sizes[1];
      EXPECT_EQ(scratch.semaphores_bytes, c.semaphores) << c.sizes[0] << " x " << c.sizes[1];
    }
  }
}

TEST(ReductionScratch, IsNothingWhereEveryOutputHasABlock) {
  const operators::CudaTraits traits = operators::cuda_traits(kHopper);
  EXPECT_EQ(scratch_of_one_kernel(tensor({2048, 2048}), {1}, 4, traits).buffer_bytes, 0);
  EXPECT_EQ(scratch_of_one_kernel(tensor({64, 64}), {0}, 4, traits).buffer_bytes, 0);
  EXPECT_EQ(scratch_of_one_kernel(tensor({}), {}, 4, traits).buffer_bytes, 0);
  EXPECT_EQ(scratch_of_one_kernel(tensor({0, 8}), {0}, 4, traits).buffer_bytes, 0);
}

TEST(ReductionScratch, DoesNotDependOnDimensionsOfOneOrHowDimensionsAreSplit) {
  const operators::CudaTraits traits = operators::cuda_traits(kHopper);
  const operators::ReductionScratch flat =
      scratch_of_one_kernel(tensor({4096, 768}), {0}, 4, traits);
  for (const auto& [sizes, dimensions] : {std::pair<Ints, Ints>{{4, 1024, 768}, {0, 1}},
                                          {{1, 4096, 768}, {1}},
                                          {{4096, 1, 768}, {-3}},
                                          {{1, 4, 1024, 1, 768}, {0, 1, 2, 3}}}) {
    const operators::ReductionScratch split =
        scratch_of_one_kernel(tensor(sizes), dimensions, 4, traits);
    EXPECT_EQ(split.buffer_bytes, flat.buffer_bytes);
    EXPECT_EQ(split.semaphores_bytes, flat.semaphores_bytes);
  }
}

TEST(CallScript, SumTakesItsScratchAfterItsResult) {
  const Words expected{"o1", "+25165824", "+96", "-1", "-0"};
  EXPECT_EQ(Call("aten::sum", "dim_IntList")
                .tensor_argument(tensor({1024, 3072}, DType::kBFloat16))
                .argument(Ints{0})
                .output(tensor({1, 3072}, DType::kBFloat16))
                .script(),
            expected);
}

Call sum(const TensorRef& of, const Ints& dimensions, const TensorRef& result) {
  return Call("aten::sum", "dim_IntList")
      .tensor_argument(of)
      .argument(dimensions)
      .argument(false)
      .argument(program::None{})
      .output(result);
}

/// Two kernels of 2^29 elements, the most that 32-bit offsets in bytes reach in fp32.
TEST(CallScript, ASumBeyond32BitsIsSeveralKernelsWithScratchOfTheirOwn) {
  constexpr std::int64_t kElements = std::int64_t{1} << 30;
  EXPECT_EQ(sum(tensor({kElements}), {}, tensor({})).script(),
            (Words{"o1", "+16384", "+4", "-1", "-0", "+16384", "+4", "-3", "-2"}));
  const Call columns = sum(tensor({kElements / 1024, 1024}), {0}, tensor({1024}));
  EXPECT_EQ(columns.script(),
            (Words{"o1", "+268435456", "+32", "-1", "-0", "+268435456", "+32", "-3", "-2"}));
  EXPECT_EQ(columns.source(), ScriptSource::kExact);
  EXPECT_EQ(sum(tensor({kElements / 2}), {}, tensor({})).script(),
            (Words{"o1", "+16384", "+4", "-1", "-0"}));
}

TEST(CallScript, ASumBeyond32BitsInHalfPrecisionAddsUpInABufferOfFp32) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const TensorRef rows = tensor({300'000'000, 16}, dtype);
    EXPECT_EQ(sum(rows, {1}, tensor({300'000'000}, dtype)).script(),
              (Words{"o1", "+1200000000", "-0"}));
    // A result in fp32 holds the sums itself.
    EXPECT_EQ(sum(rows, {1}, tensor({300'000'000})).script(), (Words{"o1"}));
  }
}

TEST(CallScript, ASumThatNoMemoryHoldsIsModelled) {
  constexpr std::int64_t kElements = std::int64_t{1} << 50;
  EXPECT_EQ(sum(tensor({kElements}), {}, tensor({})).source(), ScriptSource::kModelled);
}

/// Vectors of outputs need aligned inputs.
TEST(CallScript, ASumOfAViewReadsAsManyOutputsAtOnceAsItsStartAllows) {
  TensorRef view = tensor({4096, 768});
  view.strides[0] = 1024;
  const auto first_request = [&view](std::int64_t offset) {
    view.offset = offset;
    return sum(view, {0}, tensor({768})).script().at(1);
  };
  EXPECT_EQ(first_request(4), first_request(0));
  EXPECT_NE(first_request(1), first_request(0));
}

TEST(CallScript, WhatNeedsARecordIsNotExactBeyond32Bits) {
  const auto softmax = [](std::int64_t rows) {
    return Call("aten::_softmax")
        .tensor_argument(tensor({rows, 1024}, DType::kBFloat16))
        .argument(std::int64_t{-1})
        .argument(false)
        .output(tensor({rows, 1024}, DType::kBFloat16))
        .source();
  };
  EXPECT_EQ(softmax(1024 * 1024), ScriptSource::kExact);
  EXPECT_EQ(softmax(1024 * 1024 + 1), ScriptSource::kModelled);
}

/// Every second element of a vector.
TensorRef every_second(std::int64_t count, DType dtype = DType::kFloat32) {
  TensorRef ref = tensor({count}, dtype);
  ref.strides = {2};
  return ref;
}

TEST(CallScript, LayerNormCopiesAStridedWeightAndBias) {
  const auto forward = [](const TensorRef& weight, const TensorRef& bias) {
    return Call("aten::native_layer_norm")
        .tensor_argument(tensor({8, 1024}))
        .argument(Ints{1024})
        .tensor_argument(weight)
        .tensor_argument(bias)
        .argument(1e-5)
        .output(tensor({8, 1024}))
        .output(tensor({8, 1}))
        .output(tensor({8, 1}))
        .script();
  };
  EXPECT_EQ(forward(tensor({1024}), tensor({1024})), (Words{"o3", "o4", "o5"}));
  EXPECT_EQ(forward(every_second(1024), every_second(1024)),
            (Words{"+4096", "+4096", "o3", "o4", "o5", "-1", "-0"}));
  EXPECT_EQ(forward(tensor({1024}), every_second(1024)), (Words{"+4096", "o3", "o4", "o5", "-0"}));
  EXPECT_EQ(Call("aten::native_layer_norm_backward")
                .tensor_argument(tensor({8, 1024}))
                .tensor_argument(tensor({8, 1024}))
                .argument(Ints{1024})
                .tensor_argument(tensor({8, 1}))
                .tensor_argument(tensor({8, 1}))
                .tensor_argument(every_second(1024))
                .tensor_argument(tensor({1024}))
                .argument(Bools{true, true, true})
                .output(tensor({8, 1024}))
                .output(tensor({1024}))
                .output(tensor({1024}))
                .script(),
            (Words{"+4096", "o6", "o7", "o8", "-0"}));
}

TEST(CallScript, BinaryCrossEntropyWeightsInThePromotedDtype) {
  const auto loss = [](const TensorRef& target, const TensorRef& weight) {
    return Call("aten::binary_cross_entropy_with_logits")
        .tensor_argument(tensor({64, 128}, target.dtype))
        .tensor_argument(target)
        .argument(program::None{})
        .tensor_argument(weight)
        .argument(std::int64_t{0})
        .output(tensor({64, 128}, target.dtype))
        .script();
  };
  const TensorRef half = tensor({64, 128}, DType::kBFloat16);
  // log(sigmoid), the weight less one, the weights.
  EXPECT_EQ(loss(half, tensor({128})), (Words{"+16384", "+512", "+32768", "-1", "-2", "o3", "-0"}));
  EXPECT_EQ(loss(half, tensor({128}, DType::kFloat16)),
            (Words{"+16384", "+256", "+32768", "-1", "-2", "o3", "-0"}));
  EXPECT_EQ(loss(half, tensor({128}, DType::kInt64)),
            (Words{"+16384", "+1024", "+16384", "-1", "-2", "o3", "-0"}));
  // One number decides nothing beside an array of its kind.
  EXPECT_EQ(loss(half, tensor({})), (Words{"+16384", "+4", "+16384", "-1", "-2", "o3", "-0"}));
}

TEST(CallScript, DropoutMakesItsMaskFirst) {
  const Words expected{"o2", "o1"};
  EXPECT_EQ(Call("aten::native_dropout")
                .tensor_argument(tensor({8}))
                .output(tensor({8}))
                .output(tensor({8}, DType::kBool))
                .script(),
            expected);
}

Call cudnn_backward(const Ints& query, const Ints& key) {
  Call call("aten::_scaled_dot_product_cudnn_attention_backward");
  for (const Ints& sizes : {query, query, key, key}) {
    call.tensor_argument(tensor(sizes, DType::kBFloat16));
  }
  call.output(tensor(query, DType::kBFloat16)).output(tensor(key, DType::kBFloat16));
  return call.output(tensor(key, DType::kBFloat16));
}

TEST(CallScript, CudnnAttentionBackwardSumsInFp32) {
  EXPECT_EQ(cudnn_backward({1, 12, 1024, 64}, {1, 12, 1024, 64}).script(),
            (Words{"o4", "o5", "o6", "+3195136", "-0"}));
  EXPECT_EQ(cudnn_backward({16, 12, 197, 64}, {16, 12, 197, 64}).script(),
            (Words{"o4", "o5", "o6", "+9834496", "-0"}));
  // Grouped queries: 32 heads, 8 of keys and values.
  EXPECT_EQ(cudnn_backward({1, 32, 1024, 64}, {1, 8, 1024, 64}).script(),
            (Words{"o4", "o5", "o6", "+16908544", "-0"}));
}

/// Attention as LLaMA's: (batch, head, row, width) in memory as (batch, row, head, width).
TensorRef heads(std::int64_t width, DType dtype) {
  TensorRef ref = tensor({2, 4, 64, width}, dtype);
  ref.strides = {64 * 4 * width, width, 4 * width, 1};
  return ref;
}

struct AttentionCall {
  std::int64_t width = 64;
  DType dtype = DType::kBFloat16;
  bool mask = false;
};

Call cudnn_forward(const AttentionCall& wanted) {
  const TensorRef of = heads(wanted.width, wanted.dtype);
  Call call("aten::_scaled_dot_product_cudnn_attention");
  for (int i = 0; i < 3; ++i) call.tensor_argument(of);
  if (wanted.mask) {
    call.tensor_argument(tensor({2, 4, 64, 64}, wanted.dtype));
  } else {
    call.argument(program::None{});
  }
  call.argument(true).argument(0.0).argument(true).argument(false).argument(0.125);
  call.output(of).output(tensor({2, 4, 64, 1})).argument_output(program::None{});
  call.argument_output(program::None{}).argument_output(std::int64_t{64});
  call.argument_output(std::int64_t{64}).output(tensor({}, DType::kInt64));
  return call.output(tensor({}, DType::kInt64)).argument_output(program::None{});
}

TEST(CallScript, CudnnAttentionIsExactOnlyAsRecorded) {
  EXPECT_EQ(cudnn_forward({}).source(), ScriptSource::kExact);
  EXPECT_EQ(cudnn_forward({.width = 128}).source(), ScriptSource::kModelled);
  EXPECT_EQ(cudnn_forward({.width = 32}).source(), ScriptSource::kModelled);
  EXPECT_EQ(cudnn_forward({.dtype = DType::kFloat16}).source(), ScriptSource::kModelled);
  EXPECT_EQ(cudnn_forward({.mask = true}).source(), ScriptSource::kModelled);
}

Call batch_norm(const TensorRef& input, bool training) {
  const Ints channels{input.sizes[1]};
  Call call("aten::native_batch_norm");
  call.tensor_argument(input);
  for (int i = 0; i < 4; ++i) call.tensor_argument(tensor(channels, DType::kBFloat16));
  call.argument(training).output(input);
  return call.output(tensor(channels)).output(tensor(channels));
}

/// Channels last reduce in 128 rows of blocks, in two columns of 32 channels (LibTorch's source).
TEST(CallScript, BatchNormTakesScratchWithChannelsLastInTraining) {
  const Ints sizes{32, 64, 56, 56};
  EXPECT_EQ(batch_norm(channels_last(sizes), true).script(),
            (Words{"o5", "o6", "o7", "+131072", "+8", "-1", "-0"}));
  EXPECT_EQ(batch_norm(channels_last(sizes), true).source(), operators::ScriptSource::kModelled);
  EXPECT_EQ(batch_norm(channels_last(sizes), false).script(), (Words{"o5", "o6", "o7"}));
  EXPECT_EQ(batch_norm(tensor(sizes, DType::kBFloat16), true).script(), (Words{"o5", "o6", "o7"}));
  EXPECT_EQ(batch_norm(tensor(sizes, DType::kBFloat16), true).source(),
            operators::ScriptSource::kExact);
  EXPECT_EQ(batch_norm(channels_last({2, 64, 4, 4}), true).script(), (Words{"o5", "o6", "o7"}));
}

Call max_pool_backward(const TensorRef& gradient, const TensorRef& input) {
  return Call("aten::max_pool2d_with_indices_backward")
      .tensor_argument(gradient)
      .tensor_argument(input)
      .argument(Ints{13, 13})
      .argument(Ints{1, 1})
      .argument(Ints{6, 6})
      .argument(Ints{1, 1})
      .argument(false)
      .tensor_argument(tensor(input.sizes, DType::kInt64))
      .output(input);
}

/// As recorded of a CSPNeXt, where the gradient is a part of a concatenation's.
TEST(CallScript, MaxPoolBackwardCopiesAGradientWithGaps) {
  const TensorRef input = tensor({24, 192, 8, 8}, DType::kBFloat16);
  TensorRef gradient = input;
  gradient.strides[0] = 49152;
  EXPECT_EQ(max_pool_backward(gradient, input).script(), (Words{"o3", "+589824", "-0"}));
  EXPECT_EQ(max_pool_backward(gradient, input).source(), operators::ScriptSource::kModelled);
  EXPECT_EQ(max_pool_backward(input, input).script(), (Words{"o3"}));
  EXPECT_EQ(max_pool_backward(input, input).source(), operators::ScriptSource::kExact);
  EXPECT_EQ(max_pool_backward(input, channels_last(input.sizes, DType::kBFloat16)).script(),
            (Words{"o3", "+589824", "-0"}));
}

Call batch_norm_backward(const TensorRef& input, bool training, bool saved, const Bools& mask) {
  const Ints channels{input.sizes[1]};
  Call call("aten::native_batch_norm_backward");
  call.tensor_argument(input).tensor_argument(input);
  for (int i = 0; i < 3; ++i) call.tensor_argument(tensor(channels, DType::kBFloat16));
  for (int i = 0; i < 2; ++i) call.tensor_argument(tensor(saved ? channels : Ints{0}));
  call.argument(training).argument(1e-5).argument(mask);
  if (mask[0]) call.output(input);
  for (const bool wanted : {mask[1], mask[2]}) {
    if (wanted) call.output(tensor(channels, DType::kBFloat16));
  }
  return call;
}

TEST(CallScript, BatchNormBackwardIsOneKernelOrKeepsSums) {
  const Ints sizes{32, 64, 56, 56};
  const Bools all{true, true, true};
  EXPECT_EQ(batch_norm_backward(tensor(sizes), true, true, all).script(),
            (Words{"o7", "o8", "o9"}));
  EXPECT_EQ(batch_norm_backward(channels_last(sizes), true, true, all).script(),
            (Words{"+256", "+256", "o8", "o9", "+65536", "+8", "-3", "-2", "o7", "-1", "-0"}));
  // With cuDNN in evaluation, nothing was saved.
  EXPECT_EQ(batch_norm_backward(tensor(sizes), false, false, {false, true, true}).script(),
            (Words{"+256", "o7", "o8", "-0"}));
  EXPECT_EQ(batch_norm_backward(tensor(sizes), false, false, {true, false, false}).script(),
            (Words{"+256", "o7", "-0"}));
  EXPECT_EQ(batch_norm_backward(tensor(sizes), false, true, {true, false, false}).script(),
            (Words{"o7"}));
}

Call ctc_backward(const Ints& log_probs, bool zero_infinity) {
  const Ints lengths(static_cast<std::size_t>(log_probs[1]), 3);
  return Call("aten::_ctc_loss_backward")
      .tensor_argument(tensor({log_probs[1]}))
      .tensor_argument(tensor(log_probs))
      .tensor_argument(tensor({log_probs[1], 3}, DType::kInt64))
      .argument(lengths)
      .argument(lengths)
      .tensor_argument(tensor({log_probs[1]}))
      .tensor_argument(tensor({log_probs[1], log_probs[0], 7}))
      .argument(std::int64_t{0})
      .argument(zero_infinity)
      .output(tensor(log_probs));
}

/// Derived from LibTorch's source, not recorded.
TEST(CallScript, CtcLossCopiesLengthsAndMakesItsTableFirst) {
  const Call forward = Call("aten::_ctc_loss")
                           .tensor_argument(tensor({12, 4, 6}))
                           .tensor_argument(tensor({4, 3}, DType::kInt64))
                           .output(tensor({4}))
                           .output(tensor({4, 12, 7}));
  EXPECT_EQ(forward.script(), (Words{"+32", "+32", "+32", "o3", "o2", "-1", "-0", "-2"}));
  EXPECT_EQ(forward.source(), operators::ScriptSource::kModelled);
  EXPECT_EQ(ctc_backward({12, 4, 6}, true).script(),
            (Words{"+32", "+32", "+32", "+1344", "o5", "-3", "-1", "-0", "-2"}));
  // 230 steps count as a large problem: 4 columns of blanks.
  EXPECT_EQ(ctc_backward({230, 4, 6}, false).script(),
            (Words{"+32",
                   "+32",
                   "+32",
                   "+25760",
                   "o5",
                   "+14720",
                   "+14720",
                   "-5",
                   "-4",
                   "-3",
                   "-1",
                   "-0",
                   "-2"}));
  const Words script = ctc_backward({230, 4, 6}, true).script();
  EXPECT_EQ(std::count(script.begin(), script.end(), "+22080"), 1);
}

TEST(CallScript, EfficientAttentionBackwardDependsOnThePrecision) {
  const auto backward = [](DType dtype) {
    Call call("aten::_scaled_dot_product_efficient_attention_backward");
    TensorRef gradient = tensor({4, 12, 512, 64}, dtype);
    gradient.strides = {512 * 12 * 64, 64, 12 * 64, 1};
    call.tensor_argument(gradient);
    for (int i = 0; i < 3; ++i) call.tensor_argument(tensor({4, 12, 512, 64}, dtype));
    return call.output(tensor({4, 12, 512, 64}, dtype)).script();
  };
  EXPECT_EQ(backward(DType::kFloat32),
            (Words{"o4", "+6291456", "+98304", "+98304", "-0", "-1", "+6297600", "-3", "-2"}));
  EXPECT_EQ(backward(DType::kBFloat16), (Words{"o4", "+98304", "+6297600", "-1", "-0"}));
}

Call embedding_backward(std::int64_t tokens, std::int64_t rows, std::int64_t width, DType dtype) {
  return Call("aten::embedding_dense_backward")
      .tensor_argument(tensor({1, tokens, width}, dtype))
      .tensor_argument(tensor({1, tokens}, DType::kInt64))
      .argument(rows)
      .argument(std::int64_t{-1})
      .argument(false)
      .output(tensor({rows, width}, dtype));
}

TEST(CallScript, EmbeddingBackwardSortsManyIndices) {
  EXPECT_EQ(embedding_backward(3072, 50257, 768, DType::kBFloat16).script(), (Words{"o2"}));
  const Words many = embedding_backward(4096, 50257, 768, DType::kBFloat16).script();
  const Words expected{"+32768", "+32768", "+32768", "+83455", "-3",     "-2",       "o2",
                       "+32768", "+8",     "+32768", "+1279",  "-7",     "-6",       "+32768",
                       "+32768", "+1279",  "-10",    "+8",     "+36040", "+13839360"};
  EXPECT_EQ(Words(many.begin(), many.begin() + static_cast<std::ptrdiff_t>(expected.size())),
            expected);
}

TEST(CallScript, EmbeddingBackwardAddsFewSegmentsAtomically) {
  const Words words = embedding_backward(4096, 2, 768, DType::kBFloat16).script();
  EXPECT_NE(std::find(words.begin(), words.end(), "+3288"), words.end());
  EXPECT_NE(std::find(words.begin(), words.end(), "+6144"), words.end());  // fp32 sums
  const Words wide = embedding_backward(4096, 2, 768, DType::kFloat32).script();
  EXPECT_EQ(std::find(wide.begin(), wide.end(), "+6144"), wide.end());
}

TEST(CallScript, ExpandedIndicesAreCopied) {
  TensorRef expanded = tensor({8, 512}, DType::kInt64);
  expanded.strides = {0, 1};
  EXPECT_EQ(Call("aten::embedding")
                .tensor_argument(tensor({512, 768}))
                .tensor_argument(expanded)
                .output(tensor({8, 512, 768}))
                .script(),
            (Words{"+32768", "o2", "-0"}));
}

TEST(CallScript, TheFirstMatrixProductOfEachThreadMakesItsHandlesWorkspace) {
  fakes::ProgramBuilder builder(DType::kFloat32, kHopper);
  const auto x = builder.input("x", {4, 4}, DType::kFloat32);
  const auto w = builder.parameter("w", {4, 4});
  const auto first = builder.call("aten::mm", {x, w}, {4, 4});
  const auto linear = builder.call("aten::addmm", {w, first, w}, {4, 4});
  builder.call("aten::addmm", {w, linear, w}, {4, 4});
  builder.start_backward();
  builder.call("aten::mm", {linear, w}, {4, 4});
  builder.call("aten::mm", {linear, w}, {4, 4});
  const auto scripts =
      operators::call_scripts(builder.build(), operators::cuda_traits(kHopper), {});
  std::vector<std::int64_t> persistent;
  for (const operators::CallScript& script : scripts) {
    for (const operators::ScriptStep& step : script.steps) {
      if (step.kind == operators::ScriptStep::Kind::kPersistent) persistent.push_back(step.bytes);
    }
  }
  EXPECT_EQ(persistent, (std::vector<std::int64_t>{33554432, 1048576, 33554432}));
  const program::Target ampere{.kind = program::Target::Kind::kCuda, .sm = 80};
  EXPECT_EQ(operators::cuda_traits(ampere).cublas_workspace_bytes, 8519680);
}

TEST(CallScript, LibraryCallsComeFromTheTableOrAreAGuess) {
  Call call("aten::convolution_backward");
  call.tensor_argument(tensor({2, 4, 8, 8}))
      .output(tensor({2, 4, 8, 8}))
      .output(tensor({4, 4, 3, 3}));
  EXPECT_EQ(call.source(), operators::ScriptSource::kModelled);
  operators::WorkspaceTable table;
  table.calls[operators::operator_key(call.program().operators[0])] = {
      {operators::RecordedStep::Kind::kOutput, 0, 0},
      {operators::RecordedStep::Kind::kTemporary, 272, 0},
      {operators::RecordedStep::Kind::kRelease, 0, 0},
      {operators::RecordedStep::Kind::kOutput, 0, 1},
      {operators::RecordedStep::Kind::kTemporary, 21504, 0},
      {operators::RecordedStep::Kind::kRelease, 0, 1}};
  EXPECT_EQ(call.source(table), operators::ScriptSource::kMeasured);
  const Words script{"o1", "+272", "-0", "o2", "+21504", "-1"};
  EXPECT_EQ(call.script(table), script);
  table.libraries = operators::kPredictedLibraries;
  EXPECT_EQ(call.source(table), operators::ScriptSource::kMeasured);
  table.libraries = "LibTorch 2.10.0+cu128, cuDNN 9.10";
  EXPECT_EQ(call.source(table), operators::ScriptSource::kModelled) << "of other libraries";
  EXPECT_EQ(call.script(table), script);
}

/// A GRU of two layers, 1,024 wide, over 8 sequences of 64 numbers, without dropout.
Call gru_forward(bool training, bool bidirectional, std::int64_t steps = 32) {
  constexpr std::int64_t kGru = 3;
  constexpr std::int64_t kReserveBytes = 13631744;
  constexpr std::int64_t kWeights = 9646080;
  Call call("aten::_cudnn_rnn");
  call.tensor_argument(tensor({steps, 8, 64}))
      .argument(program::None{})
      .argument(std::int64_t{4})
      .argument(program::None{})
      .tensor_argument(tensor({2, 8, 1024}))
      .argument(program::None{})
      .argument(kGru)
      .argument(std::int64_t{1024})
      .argument(std::int64_t{0})
      .argument(std::int64_t{2})
      .argument(false)
      .argument(0.0)
      .argument(training)
      .argument(bidirectional)
      .output(tensor({32, 8, 1024}))
      .output(tensor({2, 8, 1024}))
      .output(tensor({0}));
  if (training) call.output(tensor({kReserveBytes}, DType::kUInt8));
  return call.output(tensor({kWeights}));
}

TEST(CallScript, RecurrentLayersTakeTheRecordedWorkspace) {
  const Call call = gru_forward(true, false);
  EXPECT_EQ(call.source(), operators::ScriptSource::kMeasured);
  // Output, state, packed weights, workspace, reserve space.
  EXPECT_EQ(call.script(), (Words{"o2", "o3", "o6", "+59965760", "o5", "-0"}));
}

TEST(CallScript, RecurrentLayersTakeLessInInference) {
  const Call call = gru_forward(false, false);
  EXPECT_EQ(call.source(), operators::ScriptSource::kMeasured);
  EXPECT_EQ(call.script(), (Words{"o2", "o3", "o5", "+59900224", "-0"}));
}

TEST(CallScript, RecurrentLayersThatNobodyAskedForAreModelled) {
  EXPECT_EQ(gru_forward(true, true).source(), operators::ScriptSource::kMeasured);
  EXPECT_EQ(gru_forward(true, false, 10'000).source(), operators::ScriptSource::kModelled);
}

/// Without biases the gradients of the weights are copied out of the packed ones, while the
/// workspace is still there.
TEST(CallScript, RecurrentLayersWithoutBiasesGiveTheirGradientsBesideTheWorkspace) {
  constexpr std::int64_t kReserveBytes = 2196736;
  const auto half = [](Ints sizes) { return tensor(std::move(sizes), DType::kFloat16); };
  const Call call = Call("aten::_cudnn_rnn_backward")
                        .tensor_argument(half({55, 6, 108}))
                        .argument(program::None{})
                        .argument(std::int64_t{2})
                        .tensor_argument(half({675840}))
                        .tensor_argument(half({2, 6, 256}))
                        .argument(program::None{})
                        .tensor_argument(half({55, 6, 256}))
                        .tensor_argument(half({55, 6, 256}))
                        .tensor_argument(half({2, 6, 256}))
                        .argument(program::None{})
                        .argument(std::int64_t{3})
                        .argument(std::int64_t{256})
                        .argument(std::int64_t{0})
                        .argument(std::int64_t{2})
                        .argument(false)
                        .argument(0.0)
                        .argument(true)
                        .argument(false)
                        .argument(Ints{})
                        .argument(program::None{})
                        .tensor_argument(tensor({kReserveBytes}, DType::kUInt8))
                        .argument(Bools{true, true, false, true})
                        .output(half({55, 6, 108}))
                        .output(half({2, 6, 256}))
                        .output(half({768, 108}))
                        .output(half({768, 256}))
                        .output(half({768, 256}))
                        .output(half({768, 256}));
  EXPECT_EQ(call.script(),
            (Words{"o7",
                   "o8",
                   "+18950720",
                   "-0",
                   "+1351680",
                   "+18950720",
                   "o9",
                   "o10",
                   "o11",
                   "o12",
                   "-2",
                   "-1"}));
}

/// Seen on an H200.
TEST(CallScript, IndicesOfOtherStridesAreCopied) {
  const auto script_of = [](const std::vector<TensorRef>& indices) {
    program::Tensors list;
    for (TensorRef each : indices) {
      each.storage = 0;
      list.emplace_back(std::move(each));
    }
    return Call("aten::index", "Tensor")
        .tensor_argument(tensor({11, 1, 3, 8}))
        .argument(std::move(list))
        .output(tensor({128, 141, 3, 8}))
        .script();
  };
  const TensorRef plain = tensor({128, 141}, DType::kInt64);
  TensorRef turned = plain;
  turned.strides = {1, 128};
  EXPECT_EQ(script_of({turned}), (Words{"o1"}));
  EXPECT_EQ(script_of({turned, turned}), (Words{"o1"}));
  EXPECT_EQ(script_of({plain, turned}), (Words{"+144384", "o1", "-0"}));
  EXPECT_EQ(script_of({tensor({128, 1}, DType::kInt64), tensor({141}, DType::kInt64)}),
            (Words{"+144384", "+144384", "o1", "-1", "-0"}));
}

TEST(CallScript, EveryFreshStorageIsAllocatedOnceAndEveryTemporaryReleasedOnce) {
  fakes::TransformerOptions options;
  const Program program = fakes::transformer(options);
  const auto scripts = operators::call_scripts(program, operators::cuda_traits(kHopper), {});
  std::vector<int> allocated(program.storages.size(), 0);
  for (const operators::CallScript& script : scripts) {
    std::vector<int> held;
    for (const operators::ScriptStep& step : script.steps) {
      if (step.kind == operators::ScriptStep::Kind::kOutput) {
        ++allocated[static_cast<std::size_t>(step.storage)];
      } else if (step.kind == operators::ScriptStep::Kind::kTemporary) {
        EXPECT_GT(step.bytes, 0);
        held.push_back(step.temporary);
      } else if (step.kind == operators::ScriptStep::Kind::kRelease) {
        ASSERT_EQ(std::count(held.begin(), held.end(), step.temporary), 1);
        held.erase(std::find(held.begin(), held.end(), step.temporary));
      }
    }
    EXPECT_TRUE(held.empty());
  }
  for (const program::Storage& storage : program.storages) {
    EXPECT_EQ(allocated[static_cast<std::size_t>(storage.id)],
              storage.allocated_at >= 0 && storage.bytes > 0 ? 1 : 0);
  }
}

TEST(CudaTraits, WhatNobodyKnowsOfAGpuIsNotAnH200s) {
  for (const int sm : {75, 80, 86, 89, 100, 120}) {
    const operators::CudaTraits traits =
        operators::cuda_traits({.kind = program::Target::Kind::kCuda, .sm = sm});
    EXPECT_FALSE(traits.recorded) << sm;
    EXPECT_FALSE(traits.process_overhead_bytes()) << sm;
    EXPECT_FALSE(traits.nccl_bytes(2)) << sm;
    EXPECT_NE(traits.multiprocessors, std::optional(132)) << sm;
    EXPECT_GT(traits.assumed_multiprocessors(), 0) << sm;
  }
  EXPECT_EQ(operators::cuda_traits({.sm = 80}).multiprocessors, std::optional(108));
  EXPECT_EQ(operators::cuda_traits({.sm = 86}).multiprocessors, std::nullopt);
  EXPECT_EQ(operators::cuda_traits({.sm = 86}).threads_per_multiprocessor, 1536);
  EXPECT_EQ(operators::cuda_traits({.sm = 75}).threads_per_multiprocessor, 1024);
  EXPECT_TRUE(operators::cuda_traits(kHopper).recorded);
}

TEST(CallScript, WhatTouchesAGpuThatNobodyRecordedIsModelled) {
  for (const int sm : {80, 90}) {
    const program::Target target{.kind = program::Target::Kind::kCuda, .sm = sm};
    fakes::ProgramBuilder builder(DType::kFloat32, target);
    const auto x = builder.input("x", {4, 4}, DType::kFloat32);
    const auto w = builder.parameter("w", {4, 4});
    builder.call("aten::mm", {x, w}, {4, 4});  // makes cuBLAS's workspace
    builder.call("aten::relu", {x}, {4, 4});   // its output alone, by LibTorch's source
    builder.write("aten::zero_", x, {});
    builder.view("aten::t", x, {4, 4});  // runs no kernel
    const auto scripts =
        operators::call_scripts(builder.build(), operators::cuda_traits(target), {});
    for (const std::size_t call : {0, 1, 2}) {
      EXPECT_EQ(scripts.at(call).source,
                sm == 90 ? operators::ScriptSource::kExact : operators::ScriptSource::kModelled)
          << call;
    }
    EXPECT_EQ(scripts.at(3).source, operators::ScriptSource::kExact);
  }
}

TEST(CallScript, EvidenceOfOneGpuSaysNothingOfAnother) {
  const Program program = Call("aten::tril")
                              .tensor_argument(tensor({8, 8}, DType::kBool))
                              .argument(std::int64_t{0})
                              .output(tensor({8, 8}, DType::kBool))
                              .program();
  EXPECT_EQ(call_scripts(program, cuda_traits(kHopper), {}).at(0).source, ScriptSource::kExact);
  const CudaTraits ampere = cuda_traits({.kind = program::Target::Kind::kCuda, .sm = 80});
  EXPECT_EQ(call_scripts(program, ampere, {}).at(0).source, ScriptSource::kModelled);
}

TEST(CudaTraits, AReplayNeedsNoLibrariesForAThreadOfBackward) {
  operators::CudaTraits traits = operators::cuda_traits(kHopper);
  const auto with_thread = traits.process_overhead_bytes();
  traits.backward_has_thread = false;
  const auto without = traits.process_overhead_bytes();
  ASSERT_TRUE(with_thread && without);
  EXPECT_EQ(*with_thread - *without, traits.backward_thread_bytes);
  EXPECT_GT(traits.backward_thread_bytes, 0);
  traits.autograd_overhead_bytes.reset();
  EXPECT_FALSE(traits.process_overhead_bytes()) << "where nobody measured";
}

}  // namespace
}  // namespace elixir::operators
