// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "operators/scratch/evidence/known_without_scratch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "fakes/program_builder.h"
#include "operators/scratch/evidence/call_form.h"
#include "single_call.h"

namespace elixir::operators {
namespace {

TensorRef with_strides(TensorRef ref, Ints strides) {
  ref.strides = std::move(strides);
  return ref;
}

WithoutScratch known(const Call& call) {
  const Program program = call.program();
  return known_without_scratch(program.operators.at(0), program);
}

Call unary(const std::string& name, const TensorRef& of, const std::string& overload = "") {
  return Call(name, overload).tensor_argument(of).output(tensor(of.sizes, of.dtype));
}

TEST(KnownWithoutScratch, TablesAreSortedWithoutDoubles) {
  const auto ascends = [](const std::vector<std::string_view>& names) {
    return std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) == names.end();
  };
  EXPECT_TRUE(ascends(kElementwise));
  EXPECT_TRUE(ascends(kRecordedForms));
  // Its parts are searched by bisection, so each must be found.
  const std::vector<std::string_view> all = names_without_scratch_by_source();
  EXPECT_TRUE(ascends(all));
  for (const std::string_view name : all) {
    const std::size_t dot = name.find('.');
    const Program program =
        Call(std::string(name.substr(0, dot)),
             dot == std::string_view::npos ? "" : std::string(name.substr(dot + 1)))
            .tensor_argument(tensor({4}))
            .program();
    EXPECT_TRUE(without_scratch_by_source(program.operators.at(0), program)) << name;
  }
}

TEST(KnownWithoutScratch, ElementwiseCallsOfAnyOrderAndDtype) {
  EXPECT_EQ(known(unary("aten::gelu", tensor({4, 4}, DType::kFloat16))), WithoutScratch::kBySource);
  EXPECT_EQ(known(unary("aten::gelu", with_strides(tensor({4, 4}), {1, 4}))),
            WithoutScratch::kBySource);
}

/// They may be conjugated views, which are written out first.
TEST(KnownWithoutScratch, ComplexNumbersAreOtherKernels) {
  const TensorRef complex = tensor({4, 4}, DType::kComplex64);
  EXPECT_EQ(known(unary("aten::abs", complex)), WithoutScratch::kNotKnown);
  EXPECT_EQ(known(unary("aten::mul", complex, "Tensor")), WithoutScratch::kNotKnown);
  EXPECT_EQ(known(Call("aten::view").tensor_argument(complex)), WithoutScratch::kBySource);
}

/// A number on the host is an argument of the kernel; an array would have to be copied.
TEST(KnownWithoutScratch, ArraysOnTheHostAreNotNumbers) {
  const auto product = [](const TensorRef& right) {
    return Call("aten::mul", "Tensor")
        .tensor_argument(tensor({4}))
        .on_host_argument(right)
        .output(tensor({4}));
  };
  EXPECT_EQ(known(product(tensor({}))), WithoutScratch::kBySource);
  EXPECT_EQ(known(product(tensor({4}))), WithoutScratch::kNotKnown);
}

TEST(KnownWithoutScratch, CopiesWithinTheGpuOnly) {
  EXPECT_EQ(known(unary("aten::clone", tensor({4}))), WithoutScratch::kBySource);
  EXPECT_EQ(known(Call("aten::copy_").tensor_argument(tensor({4})).on_host_argument(tensor({4}))),
            WithoutScratch::kNotKnown);
}

TEST(KnownWithoutScratch, ViewsThatAllocateAreNone) {
  EXPECT_EQ(known(Call("aten::view").tensor_argument(tensor({4}))), WithoutScratch::kBySource);
  EXPECT_EQ(known(unary("aten::view", tensor({4}))), WithoutScratch::kNotKnown);
}

TEST(KnownWithoutScratch, CallsOnTheHostDoNotKnowOfTheGpu) {
  EXPECT_EQ(known(Call("aten::sort").on_host_argument(tensor({4}))), WithoutScratch::kBySource);
  EXPECT_EQ(known(Call("aten::sort").tensor_argument(tensor({4}))), WithoutScratch::kNotKnown);
}

Call softmax(const TensorRef& of, std::int64_t dim) {
  return Call("aten::_softmax")
      .tensor_argument(of)
      .argument(dim)
      .argument(false)
      .output(tensor(of.sizes, of.dtype));
}

TEST(KnownWithoutScratch, EvidenceHoldsForTheRecordedFormAlone) {
  EXPECT_EQ(known(softmax(tensor({64, 8}, DType::kBFloat16), -1)), WithoutScratch::kByEvidence);
  EXPECT_EQ(known(softmax(tensor({7, 100}, DType::kBFloat16), 1)), WithoutScratch::kByEvidence);
  EXPECT_EQ(known(softmax(tensor({64, 8}, DType::kBFloat16), 0)), WithoutScratch::kNotKnown);
  EXPECT_EQ(known(softmax(tensor({64, 8}, DType::kFloat16), -1)), WithoutScratch::kNotKnown);
  EXPECT_EQ(known(softmax(with_strides(tensor({64, 8}, DType::kBFloat16), {1, 64}), -1)),
            WithoutScratch::kNotKnown);
}

TEST(KnownWithoutScratch, WhatIsChosenBySizeIsKnownForTheRecordedSizes) {
  const auto topk = [](std::int64_t rows, std::int64_t columns) {
    return Call("aten::topk")
        .tensor_argument(tensor({rows, columns}, DType::kBFloat16))
        .argument(std::int64_t{2})
        .argument(std::int64_t{-1})
        .argument(true)
        .argument(true)
        .output(tensor({rows, 2}, DType::kBFloat16))
        .output(tensor({rows, 2}, DType::kInt64));
  };
  EXPECT_EQ(known(topk(2048, 8)), WithoutScratch::kByEvidence);
  EXPECT_EQ(known(topk(8, 100'000)), WithoutScratch::kNotKnown);
}

/// Calls that take scratch memory on a GPU, of which nobody has recorded how much.
TEST(KnownWithoutScratch, CallsThatNobodyHasLookedAtAreModelled) {
  const TensorRef matrix = tensor({64, 64});
  for (const char* name : {"aten::sort",
                           "aten::argsort",
                           "aten::_fft_r2c",
                           "aten::_linalg_svd",
                           "aten::linalg_qr",
                           "aten::amax",
                           "aten::max",
                           "aten::var",
                           "aten::prod",
                           "aten::logsumexp",
                           "aten::dot",
                           "aten::mv",
                           "aten::addmv",
                           "aten::mse_loss",
                           "aten::smooth_l1_loss",
                           "aten::nobody_knows"}) {
    EXPECT_EQ(unary(name, matrix).source(), ScriptSource::kModelled) << name;
  }
  EXPECT_EQ(Call("aten::index_put_")
                .tensor_argument(matrix)
                .argument(program::Tensors{})
                .tensor_argument(matrix)
                .argument(true)
                .source(),
            ScriptSource::kModelled);
  EXPECT_EQ(Call("aten::cumsum")
                .tensor_argument(matrix)
                .argument(std::int64_t{1})
                .argument(program::None{})
                .output(matrix)
                .source(),
            ScriptSource::kModelled)
      << "several rows";
  TensorRef channels_last = tensor({8, 64, 4, 4}, DType::kFloat16);
  channels_last.strides = {1024, 1, 256, 64};
  EXPECT_EQ(unary("aten::cudnn_batch_norm", channels_last).source(), ScriptSource::kModelled);
}

TEST(KnownWithoutScratch, ElixirsOwnOperatorsTakeResultsAlone) {
  EXPECT_EQ(unary("elixir::cross_entropy", tensor({4, 4})).source(), ScriptSource::kExact);
}

Call mm(const TensorRef& left, const TensorRef& right) {
  return Call("aten::mm").tensor_argument(left).tensor_argument(right).output(tensor({8, 16}));
}

TEST(ProductScript, MatricesThatCublasCannotReadAreCopied) {
  const TensorRef right = tensor({4, 16});
  EXPECT_EQ(mm(tensor({8, 4}), right).source(), ScriptSource::kExact);
  EXPECT_EQ(mm(with_strides(tensor({8, 4}), {1, 8}), right).source(), ScriptSource::kExact);
  EXPECT_EQ(mm(with_strides(tensor({8, 4}), {100, 1}), right).source(), ScriptSource::kExact);
  // Every second column.
  const Call copied = mm(with_strides(tensor({8, 4}), {8, 2}), right);
  EXPECT_EQ(copied.source(), ScriptSource::kModelled);
  const std::vector<std::string> script = copied.script();
  EXPECT_NE(std::find(script.begin(), script.end(), "+128"), script.end());
  EXPECT_EQ(mm(with_strides(tensor({8, 4}), {0, 1}), right).source(), ScriptSource::kModelled)
      << "expanded rows";
  const TensorRef complex = tensor({4, 4}, DType::kComplex64);
  EXPECT_EQ(mm(complex, complex).source(), ScriptSource::kModelled);
}

TEST(CallForm, NamesWhatDecides) {
  const Program program = Call("aten::cat")
                              .argument(program::Tensors{})
                              .tensor_argument(with_strides(tensor({4, 4}), {1, 4}))
                              .on_host_argument(tensor({4, 4}, DType::kInt64))
                              .tensor_argument(with_strides(tensor({4, 4}), {0, 1}))
                              .tensor_argument(with_strides(tensor({4, 4}), {8, 2}))
                              .argument(program::None{})
                              .argument(true)
                              .output(tensor({4}))
                              .program();
  EXPECT_EQ(call_form(program.operators.at(0), program),
            "aten::cat([], float32 permuted, int64 host, float32 expanded, float32 strided, -, "
            "true) -> float32");
}

TEST(TriedOperators, AreSortedAndSayWhere) {
  EXPECT_TRUE(std::is_sorted(
      kTriedOperators.begin(),
      kTriedOperators.end(),
      [](const TriedOperator& a, const TriedOperator& b) { return a.name < b.name; }));
  EXPECT_EQ(kTriedOn.empty(), kTriedOperators.empty());
}

/// Evidence is for the operator with its overload, and for the dtypes that were tried.
TEST(TriedOperators, AreEvidenceForCallsLikeThoseThatWereTried) {
  const std::vector<TriedOperator> tried = {{"aten::roll", 250, 1024, "bfloat16 float32"},
                                            {"aten::where.self", 250, 1024, "int64"}};
  const auto is_tried = [&](const Call& call) {
    const Program program = call.program();
    return was_tried(program.operators.at(0), program, tried);
  };
  EXPECT_TRUE(is_tried(unary("aten::roll", tensor({4, 4}))));
  EXPECT_TRUE(is_tried(unary("aten::roll", tensor({4, 4}, DType::kBFloat16))));
  EXPECT_FALSE(is_tried(unary("aten::roll", tensor({4, 4}, DType::kFloat16))));
  EXPECT_FALSE(is_tried(unary("aten::rol", tensor({4, 4}))));
  EXPECT_FALSE(is_tried(unary("aten::where", tensor({4}, DType::kInt64))));
  EXPECT_TRUE(is_tried(unary("aten::where", tensor({4}, DType::kInt64), "self")));
  EXPECT_FALSE(is_tried(unary("aten::roll", tensor({4}, DType::kInt64))));
}

TEST(TriedOperators, AreNoEvidenceForWhatWasNotTried) {
  constexpr std::int64_t kMany = std::int64_t{1} << 24;
  const std::vector<TriedOperator> tried = {{"aten::roll", 250, kMany, "complex64 float32"}};
  const auto is_tried = [&](const Call& call) {
    const Program program = call.program();
    return was_tried(program.operators.at(0), program, tried);
  };
  EXPECT_TRUE(is_tried(unary("aten::roll", tensor({kMany}))));
  EXPECT_FALSE(is_tried(unary("aten::roll", tensor({kMany + 1}))));
  EXPECT_FALSE(is_tried(unary("aten::roll", tensor({4}, DType::kComplex64))));
  EXPECT_FALSE(is_tried(unary("aten::roll", tensor({4})).on_host_argument(tensor({4}))));
  EXPECT_TRUE(is_tried(unary("aten::roll", tensor({4})).on_host_argument(tensor({}))));
  EXPECT_FALSE(is_tried(Call("aten::roll").output(tensor({4}))));
}

/// Masks are turned into positions, and indices of int32 converted. Tensors of other dtypes than
/// the first one's may be converted, too.
TEST(TriedOperators, AreNoEvidenceForOtherDtypesBesideTheFirst) {
  const std::vector<TriedOperator> tried = {{"aten::index.Tensor", 250, 1024, "bool float32"},
                                            {"aten::masked_fill.Tensor", 250, 1024, "float32"}};
  const auto index = [&](DType self, DType dtype) {
    TensorRef indices = tensor({4}, dtype);
    indices.storage = 0;
    const Program program = Call("aten::index", "Tensor")
                                .tensor_argument(tensor({4}, self))
                                .argument(program::Tensors{std::nullopt, indices})
                                .output(tensor({4}, self))
                                .program();
    return was_tried(program.operators.at(0), program, tried);
  };
  EXPECT_TRUE(index(DType::kFloat32, DType::kInt64));
  EXPECT_FALSE(index(DType::kFloat32, DType::kBool));
  EXPECT_FALSE(index(DType::kBool, DType::kBool));
  EXPECT_FALSE(index(DType::kFloat32, DType::kInt32));
  const auto masked_fill = [&](DType value) {
    const Program program = Call("aten::masked_fill", "Tensor")
                                .tensor_argument(tensor({4}))
                                .tensor_argument(tensor({4}, DType::kBool))
                                .tensor_argument(tensor({}, value))
                                .output(tensor({4}))
                                .program();
    return was_tried(program.operators.at(0), program, tried);
  };
  EXPECT_TRUE(masked_fill(DType::kFloat32));
  EXPECT_FALSE(masked_fill(DType::kFloat64));
}

}  // namespace
}  // namespace elixir::operators
