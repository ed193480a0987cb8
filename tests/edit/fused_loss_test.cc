// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which losses are fused, what becomes of the program, and why others stay as they are. What a fused
// loss computes is tested in tests/runtime/bitwise_law_test.cc.
#include "edit/fused_loss.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edit/activations.h"
#include "edit/recompute.h"
#include "fakes/program_builder.h"
#include "operators/own.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using program::Argument;
using program::DType;
using program::None;
using program::Operator;
using program::Program;
using program::TensorRef;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kRows = 6, kWidth = 4, kClasses = 10;

/// A linear layer and its loss, as autograd records them.
struct LossOptions {
  DType dtype = DType::kBFloat16;
  std::int64_t reduction = 1;
  std::int64_t dimension = 1;
  bool reads_log_softmax = false;   ///< something else reads the log-softmax
  bool reads_logits_later = false;  ///< something reads the logits in backward
  bool logits_are_an_input = false;
};

class LossProgram {
 public:
  explicit LossProgram(const LossOptions& options) : options_(options), builder_(options.dtype) {}

  Program build() {
    const TensorRef x = builder_.input("x", {kRows, kWidth}, options_.dtype);
    const TensorRef target = builder_.input("target", {kRows});
    const TensorRef weight = builder_.parameter("weight", {kWidth, kClasses});
    const TensorRef logits = options_.logits_are_an_input
                                 ? builder_.input("logits", {kRows, kClasses}, options_.dtype)
                                 : builder_.call("aten::mm", {x, weight}, {kRows, kClasses});
    const bool half = options_.dtype != DType::kFloat32;
    const TensorRef wide = half ? convert(logits, DType::kFloat32) : logits;
    const TensorRef p = call("aten::_log_softmax", {wide, options_.dimension, false}, wide);
    TensorRef loss = scalar(), total = scalar();
    append("aten::nll_loss_forward",
           {p, target, None{}, options_.reduction, std::int64_t{-100}},
           {&loss, &total});
    if (options_.reads_log_softmax) (void)call("aten::exp", {p}, p);
    builder_.set_loss(loss);
    builder_.start_backward();
    TensorRef one = scalar();
    append("aten::ones_like", {loss}, {&one});
    TensorRef g = p;
    append("aten::nll_loss_backward",
           {one, p, target, None{}, options_.reduction, std::int64_t{-100}, total},
           {&g});
    TensorRef d =
        call("aten::_log_softmax_backward_data", {g, p, options_.dimension, std::int64_t{6}}, p);
    if (half) d = convert(d, options_.dtype);
    if (options_.reads_logits_later) (void)call("aten::exp", {logits}, logits);
    const TensorRef view = builder_.view("aten::t", d, {kClasses, kRows});
    const TensorRef gradient = builder_.call("aten::mm", {view, x}, {kClasses, kWidth});
    builder_.set_gradient(weight, gradient);
    return builder_.build();
  }

 private:
  static TensorRef scalar() {
    TensorRef tensor;
    tensor.dtype = DType::kFloat32;
    return tensor;
  }
  /// A call with the arguments of its schema. `results` say their geometry, and get their storages.
  void append(const std::string& name,
              std::vector<Argument> arguments,
              const std::vector<TensorRef*>& results) {
    builder_.append(name, std::move(arguments), results);
  }
  TensorRef call(const std::string& name, std::vector<Argument> arguments, const TensorRef& like) {
    TensorRef result = like;
    append(name, std::move(arguments), {&result});
    return result;
  }
  TensorRef convert(const TensorRef& from, DType to) {
    TensorRef like = from;
    like.dtype = to;
    return call(
        "aten::_to_copy", {from, std::int64_t{6}, None{}, None{}, None{}, false, None{}}, like);
  }

  LossOptions options_;
  fakes::ProgramBuilder builder_;
};

std::vector<std::string> names(const Program& program) {
  std::vector<std::string> all;
  for (const Operator& op : program.operators) all.push_back(op.name);
  return all;
}

/// The reason why the only loss of a program stays.
std::string kept(const LossOptions& options) {
  const FusedLoss result = fuse_loss(LossProgram(options).build());
  EXPECT_EQ(result.fused, 0);
  EXPECT_EQ(result.kept.size(), 1U);
  return result.kept.empty() ? "" : result.kept.front();
}

TEST(FusedLoss, TakesThePlaceOfSixOperators) {
  const Program program = LossProgram({}).build();
  const FusedLoss result = fuse_loss(program);
  EXPECT_EQ(result.fused, 1);
  EXPECT_THAT(result.kept, IsEmpty());
  EXPECT_THAT(names(result.program),
              ElementsAre("aten::mm",
                          operators::kFusedLoss,
                          "aten::ones_like",
                          operators::kFusedLossBackward,
                          "aten::t",
                          "aten::mm"));
  EXPECT_NO_THROW((void)program::analyse_lifetimes(result.program));
  for (std::size_t s = 0; s < result.program.storages.size(); ++s) {
    EXPECT_EQ(result.program.storages[s].id, static_cast<program::StorageId>(s));
  }
  EXPECT_NE(program::fingerprint(result.program), program::fingerprint(program));
}

TEST(FusedLoss, TheGradientIsWhereTheLogitsWere) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat32}) {
    const Program program = fuse_loss(LossProgram({.dtype = dtype}).build()).program;
    const auto logits = std::get<TensorRef>(program.operators[0].outputs[0]);
    const Operator& backward = program.operators[3];
    EXPECT_TRUE(backward.writes);
    EXPECT_EQ(std::get<TensorRef>(backward.arguments[0]), logits);
    const auto gradient = std::get<TensorRef>(backward.outputs[0]);
    EXPECT_EQ(gradient.storage, logits.storage);
    EXPECT_EQ(gradient.version, logits.version + 1);
    const auto viewed = std::get<TensorRef>(program.operators[4].arguments[0]);
    EXPECT_EQ(viewed, gradient);
    // Nothing of the logits' size in fp32 is left.
    for (const program::Storage& storage : program.storages) {
      if (storage.id == logits.storage) continue;
      EXPECT_NE(storage.bytes, kRows * kClasses * 4) << storage.id;
    }
  }
}

TEST(FusedLoss, KeepsThreeNumbersPerRow) {
  const Program program = fuse_loss(LossProgram({}).build()).program;
  const auto statistics = std::get<TensorRef>(program.operators[1].outputs[2]);
  EXPECT_THAT(statistics.sizes, ElementsAre(3, kRows));
  EXPECT_EQ(program.storages[statistics.storage].bytes, 3 * kRows * 4);
}

TEST(FusedLoss, StaysAndSaysWhy) {
  EXPECT_THAT(kept({.reduction = 0}), HasSubstr("does not reduce its losses"));
  EXPECT_THAT(kept({.dimension = 0}), HasSubstr("is not over dense rows of classes"));
  EXPECT_THAT(kept({.reads_log_softmax = true}), HasSubstr("(aten::exp) uses the log-softmax too"));
  EXPECT_THAT(kept({.reads_logits_later = true}),
              HasSubstr("(aten::exp) uses the logits after the loss"));
  EXPECT_THAT(kept({.logits_are_an_input = true}), HasSubstr("no operator of forward makes"));
}

TEST(FusedLoss, WithoutALossTheProgramIsUnchanged) {
  const Program program = fakes::mlp({8, 8}, 2);
  const FusedLoss result = fuse_loss(program);
  EXPECT_EQ(result.fused, 0);
  EXPECT_THAT(result.kept, ElementsAre(HasSubstr("no aten::nll_loss_forward")));
  EXPECT_EQ(program::fingerprint(result.program), program::fingerprint(program));
}

TEST(FusedLoss, FusedTwiceIsFusedOnce) {
  const FusedLoss once = fuse_loss(LossProgram({}).build());
  EXPECT_EQ(fuse_loss(once.program).fused, 0);
}

}  // namespace
}  // namespace elixir::edit
