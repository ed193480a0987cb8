// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which products are aligned, and what becomes of their results. What an aligned product computes
// is tested in tests/replay/aligned_product_test.cc.
#include "edit/aligned_products.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/program_builder.h"
#include "operators/own.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using fakes::ProgramBuilder;
using program::DType;
using program::Operator;
using program::Program;
using program::TensorRef;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kLayerRows = 16, kLayerWidth = 64, kVocabulary = 1029, kPadded = 1032;
constexpr program::Target kGpu = {.kind = program::Target::Kind::kCuda, .sm = 90};
constexpr program::Target kCpu = {.kind = program::Target::Kind::kCpu, .sm = 0};

/// logits = x W, gradient of x = logits Wᵀ, gradient of W = xᵀ logits.
struct Layer {
  DType dtype = DType::kBFloat16;
  program::Target target = kGpu;
  std::int64_t vocabulary = kVocabulary;
  std::string reader = "";  ///< something else that reads the logits

  /// The view that aten::t makes of rows of `sizes[0]` elements.
  static TensorRef transposed(TensorRef view, program::Ints sizes) {
    view.strides = {1, sizes[0]};
    view.sizes = std::move(sizes);
    return view;
  }

  [[nodiscard]] Program build() const {
    ProgramBuilder builder(dtype, target);
    const TensorRef x = builder.input("x", {kLayerRows, kLayerWidth}, dtype);
    const TensorRef weight = builder.parameter("weight", {kLayerWidth, vocabulary});
    const TensorRef logits = builder.call("aten::mm", {x, weight}, {kLayerRows, vocabulary});
    if (!reader.empty()) (void)builder.call(reader, {logits}, {kLayerRows, vocabulary});
    const TensorRef batch = builder.view("aten::view", logits, {4, 4, vocabulary});
    builder.start_backward();
    const TensorRef turned = transposed(batch, {vocabulary, kLayerRows});
    const TensorRef weight_turned = transposed(weight, {vocabulary, kLayerWidth});
    (void)builder.call("aten::mm", {logits, weight_turned}, {kLayerRows, kLayerWidth});
    const TensorRef gradient = builder.call("aten::mm", {turned, x}, {vocabulary, kLayerWidth});
    builder.set_gradient(weight, gradient);
    return builder.build();
  }
};

const Operator& product(const Program& program, int number) {
  for (const Operator& op : program.operators) {
    const bool is_product = op.name == "aten::mm" || op.name == operators::kAlignedProduct;
    if (is_product && number-- == 0) return op;
  }
  throw std::out_of_range("no such product");
}
const TensorRef& result_of(const Operator& op) {
  return std::get<TensorRef>(op.outputs.at(0));
}
const TensorRef& argument(const Operator& op, std::size_t position) {
  return std::get<TensorRef>(op.arguments.at(position));
}

TEST(AlignedProducts, AreLargeUnalignedOnesOfHalvesOnAGpu) {
  const Program program = Layer{}.build();
  EXPECT_THAT(unaligned_products(program),
              ElementsAre(product(program, 0).id, product(program, 1).id, product(program, 2).id));
  EXPECT_THAT(unaligned_products(Layer{.dtype = DType::kFloat16}.build()), testing::SizeIs(3));
  EXPECT_THAT(unaligned_products(Layer{.dtype = DType::kFloat32}.build()), IsEmpty());
  EXPECT_THAT(unaligned_products(Layer{.target = kCpu}.build()), IsEmpty());
  EXPECT_THAT(unaligned_products(Layer{.vocabulary = kPadded}.build()), IsEmpty());
  EXPECT_THAT(unaligned_products(Layer{.vocabulary = 1021}.build()), IsEmpty());
}

TEST(AlignedProducts, RowsThatOnlyProductsUseArePadded) {
  const Program before = Layer{}.build();
  const Program after = align_products(before, unaligned_products(before));
  ASSERT_EQ(after.operators.size(), before.operators.size());
  const Operator& logits = product(after, 0);
  EXPECT_EQ(logits.name, operators::kAlignedProduct);
  EXPECT_EQ(std::get<std::int64_t>(logits.arguments.at(2)), kPadded);
  EXPECT_THAT(result_of(logits).strides, ElementsAre(kPadded, 1));
  EXPECT_THAT(result_of(logits).sizes, ElementsAre(kLayerRows, kVocabulary));
  EXPECT_EQ(after.storages[result_of(logits).storage].bytes, kLayerRows * kPadded * 2);
  EXPECT_THAT(argument(product(after, 1), 0).strides, ElementsAre(kPadded, 1));
  EXPECT_THAT(argument(product(after, 2), 0).strides, ElementsAre(1, kPadded));
  // Rows of 64 are aligned already.
  for (const int number : {1, 2}) {
    const Operator& op = product(after, number);
    EXPECT_EQ(op.name, operators::kAlignedProduct);
    EXPECT_EQ(std::get<std::int64_t>(op.arguments.at(2)), kLayerWidth);
    EXPECT_THAT(result_of(op).strides, ElementsAre(kLayerWidth, 1));
  }
  EXPECT_NO_THROW((void)program::analyse_lifetimes(after));
  EXPECT_NE(program::fingerprint(after), program::fingerprint(before));
  EXPECT_THAT(unaligned_products(after), IsEmpty());
}

TEST(AlignedProducts, AResultThatSomethingElseReadsStaysPacked) {
  const Program before = Layer{.reader = "aten::gelu"}.build();
  const Program after = align_products(before, unaligned_products(before));
  const Operator& logits = product(after, 0);
  EXPECT_EQ(logits.name, operators::kAlignedProduct);
  EXPECT_EQ(std::get<std::int64_t>(logits.arguments.at(2)), kVocabulary);
  EXPECT_THAT(result_of(logits).strides, ElementsAre(kVocabulary, 1));
  EXPECT_EQ(after.storages[result_of(logits).storage].bytes, kLayerRows * kVocabulary * 2);
}

TEST(AlignedProducts, ABiasesGradientMayReadPaddedRows) {
  const Program before = Layer{.reader = "aten::sum"}.build();
  const Program after = align_products(before, unaligned_products(before));
  EXPECT_THAT(result_of(product(after, 0)).strides, ElementsAre(kPadded, 1));
}

TEST(AlignedProducts, AResultThatAProductOutsideOfTheListReadsStaysPacked) {
  const Program before = Layer{}.build();
  const Program after = align_products(before, {product(before, 0).id});
  EXPECT_THAT(result_of(product(after, 0)).strides, ElementsAre(kVocabulary, 1));
  EXPECT_EQ(product(after, 1).name, "aten::mm");
}

TEST(AlignedProducts, AGradientOfAParameterStaysPacked) {
  ProgramBuilder builder(DType::kBFloat16, kGpu);
  const TensorRef x = builder.input("x", {kLayerWidth, kLayerRows}, DType::kBFloat16);
  const TensorRef y = builder.input("y", {kLayerRows, kVocabulary}, DType::kBFloat16);
  const TensorRef weight = builder.parameter("weight", {kLayerWidth, kVocabulary});
  builder.start_backward();
  builder.set_gradient(weight, builder.call("aten::mm", {x, y}, {kLayerWidth, kVocabulary}));
  const Program before = builder.build();
  const Program after = align_products(before, unaligned_products(before));
  EXPECT_EQ(product(after, 0).name, operators::kAlignedProduct);
  EXPECT_THAT(result_of(product(after, 0)).strides, ElementsAre(kVocabulary, 1));
}

TEST(AlignedProducts, ABiasIsAddedOnce) {
  // A sum in two parts would round after the bias too, so such products stay.
  for (const std::int64_t inner : {std::int64_t{64}, std::int64_t{1027}}) {
    ProgramBuilder builder(DType::kBFloat16, kGpu);
    const TensorRef x = builder.input("x", {kLayerRows, inner}, DType::kBFloat16);
    const TensorRef weight = builder.parameter("weight", {inner, kVocabulary});
    const TensorRef bias = builder.parameter("bias", {kVocabulary});
    TensorRef y = builder.input("like", {kLayerRows, kVocabulary}, DType::kBFloat16);
    builder.append("aten::addmm", {bias, x, weight, std::int64_t{1}, std::int64_t{1}}, {&y});
    const Program before = builder.build();
    const std::vector<program::OperatorId> found = unaligned_products(before);
    if (inner != 64) {
      EXPECT_THAT(found, IsEmpty());
      continue;
    }
    ASSERT_THAT(found, testing::SizeIs(1));
    const Program after = align_products(before, found);
    EXPECT_EQ(after.operators[found[0]].name, operators::kAlignedProductWithBias);
    EXPECT_EQ(after.operators[found[0]].arguments.size(), 4U);
    EXPECT_EQ(std::get<std::int64_t>(after.operators[found[0]].arguments[3]), kPadded);
  }
}

/// Scores of attention, and what is made of them: by a product alone, or by `reader` too.
Program attention(std::int64_t length, const std::string& reader) {
  constexpr std::int64_t kHeads = 2, kHead = 64;
  ProgramBuilder builder(DType::kBFloat16, kGpu);
  const TensorRef q = builder.input("q", {kHeads, length, kHead}, DType::kBFloat16);
  const TensorRef k = builder.input("k", {kHeads, kHead, length}, DType::kBFloat16);
  const TensorRef v = builder.input("v", {kHeads, length, kHead}, DType::kBFloat16);
  const TensorRef scores = builder.call("aten::bmm", {q, k}, {kHeads, length, length});
  if (!reader.empty()) (void)builder.call(reader, {scores}, {kHeads, length, length});
  (void)builder.call("aten::bmm", {scores, v}, {kHeads, length, kHead});
  return builder.build();
}

TEST(AlignedProducts, OfBatchesFollowTheSameRule) {
  EXPECT_THAT(unaligned_products(attention(1024, "")), IsEmpty());
  EXPECT_THAT(unaligned_products(attention(1021, "")), IsEmpty());
  for (const std::string reader : {"", "aten::_softmax"}) {
    const Program before = attention(1029, reader);
    const std::vector<program::OperatorId> products = unaligned_products(before);
    ASSERT_THAT(products, testing::SizeIs(2));
    const Program after = align_products(before, products);
    const Operator& scores = after.operators[products[0]];
    EXPECT_EQ(scores.name, operators::kAlignedBatchProduct);
    const std::int64_t stride = reader.empty() ? kPadded : 1029;
    EXPECT_EQ(std::get<std::int64_t>(scores.arguments.at(2)), stride);
    EXPECT_THAT(result_of(scores).strides, ElementsAre(1029 * stride, stride, 1));
    EXPECT_EQ(after.storages[result_of(scores).storage].bytes, 2 * 1029 * stride * 2);
    EXPECT_THAT(argument(after.operators[products[1]], 0).strides,
                ElementsAre(1029 * stride, stride, 1));
    EXPECT_NO_THROW((void)program::analyse_lifetimes(after));
  }
}

TEST(AlignedProducts, WhatIsNoProductIsNamed) {
  const Program program = Layer{.reader = "aten::gelu"}.build();
  const program::OperatorId gelu = product(program, 0).id + 1;
  EXPECT_EQ(not_a_product(program, {product(program, 0).id, gelu}), gelu);
  EXPECT_EQ(not_a_product(program, {-1}), -1);
  EXPECT_EQ(not_a_product(program, {100}), 100);
  EXPECT_EQ(not_a_product(program, unaligned_products(program)), std::nullopt);
}

}  // namespace
}  // namespace elixir::edit
