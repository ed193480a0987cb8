// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// Which losses are fused, what becomes of the program, and why others stay as they are. What a
// fused loss computes is tested in tests/runtime/bitwise_law_test.cc.
#include "edit/loss/fused_loss.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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

constexpr std::int64_t kRows = 6, kWidth = 4, kClasses = 10, kIgnored = -100;
constexpr std::int64_t kNone = 0, kMean = 1, kSum = 2;  // at::Reduction

/// A linear layer and its loss, as autograd records them.
struct LossOptions {
  DType dtype = DType::kBFloat16;
  std::int64_t reduction = kMean;
  std::int64_t dimension = 1;
  double smoothing = 0;
  std::optional<DType> weights;       ///< of classes, as a buffer
  double smoothing_in_backward = -1;  ///< another one; -1: the same
  bool reads_smooth_part = false;     ///< something else reads the smoothed rows
  bool divides_by_all_rows = false;   ///< the smoothed part, ignored ones included
  bool reads_log_softmax = false;     ///< something else reads the log-softmax
  bool reads_logits_later = false;    ///< something reads the logits in backward
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
    p_ = p;
    target_ = target;
    if (options_.weights) {
      weights_ = builder_.buffer("classes", {kClasses});
      weights_->dtype = *options_.weights;
    }
    const Argument weights = weights_ ? Argument(*weights_) : Argument(None{});
    const bool reduces = options_.reduction != kNone;
    TensorRef rows = scalar();
    rows.sizes = {kRows};
    rows.strides = {1};
    TensorRef loss = reduces ? scalar() : rows, total = scalar();
    append("aten::nll_loss_forward",
           {p, target, weights, options_.reduction, kIgnored},
           {&loss, &total});
    if (options_.reads_log_softmax) (void)call("aten::exp", {p}, p);
    if (options_.smoothing != 0) loss = smooth(loss);
    const TensorRef value = reduces ? loss : call("aten::mean", {loss, None{}}, scalar());
    builder_.set_loss(value);
    builder_.start_backward();
    TensorRef one = loss;
    append("aten::ones_like", {loss}, {&one});
    TensorRef given = one;
    if (options_.smoothing != 0) given = scale(one, 1 - options_.smoothing);
    const std::optional<TensorRef> smooth_part = smooth_gradient(one);
    TensorRef g = p;
    append("aten::nll_loss_backward",
           {given, p, target, weights, options_.reduction, kIgnored, total},
           {&g});
    if (smooth_part) g = call("aten::add", {*smooth_part, g, std::int64_t{1}}, p, "Tensor");
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
  /// What LibTorch makes of label_smoothing= (edit/loss/label_smoothing.cc).
  TensorRef smooth(const TensorRef& loss) {
    TensorRef all = p_;
    if (weights_) all = call("aten::mul", {p_, row_of_weights()}, p_, "Tensor");
    TensorRef rows = loss;
    rows.sizes = {kRows};
    rows.strides = {1};
    TensorRef bools = rows;
    bools.dtype = DType::kBool;
    TensorRef each = call("aten::sum", {all, program::Ints{1}, false, None{}}, rows, "dim_IntList");
    each = call("aten::neg", {each}, rows);
    mask_ = call("aten::eq", {target_, kIgnored}, bools, "Scalar");
    each = fill_in_place(each);
    if (options_.reads_smooth_part) (void)call("aten::exp", {each}, rows);
    TensorRef number = scalar();
    if (options_.reduction != kNone) each = call("aten::sum", {each, None{}}, number);
    if (options_.reduction == kMean) {
      divisor_ = weights_ ? weight_of_targets(rows) : count();
      each = call("aten::div", {each, *divisor_}, number, "Tensor");
    }
    each = scale(each, options_.smoothing / kClasses);
    return call(
        "aten::add", {scale(loss, 1 - options_.smoothing), each, std::int64_t{1}}, loss, "Tensor");
  }
  TensorRef count() {
    TensorRef number = scalar();
    number.dtype = DType::kInt64;
    const TensorRef counted =
        options_.divides_by_all_rows ? *mask_ : call("aten::bitwise_not", {*mask_}, *mask_);
    return call("aten::sum", {counted, None{}}, number);
  }
  TensorRef weight_of_targets(const TensorRef& rows) {
    const TensorRef classes =
        call("aten::masked_fill", {target_, *mask_, std::int64_t{0}}, target_, "Scalar");
    TensorRef weights = call("aten::gather", {*weights_, std::int64_t{0}, classes, false}, rows);
    weights = fill_in_place(weights);
    return call("aten::sum", {weights, None{}}, scalar());
  }
  [[nodiscard]] TensorRef row_of_weights() const {
    TensorRef row = *weights_;
    row.sizes = {1, kClasses};
    row.strides = {kClasses, 1};
    return row;
  }
  TensorRef fill_in_place(const TensorRef& rows) {
    TensorRef written = builder_.write("aten::masked_fill_", rows, {*mask_});
    builder_.last().overload = "Scalar";
    builder_.last().arguments.emplace_back(0.0);
    return written;
  }
  TensorRef scale(const TensorRef& value, double by) {
    return call("aten::mul", {value, by}, value, "Scalar");
  }
  /// The gradient of the log-softmax by the smoothed part.
  std::optional<TensorRef> smooth_gradient(const TensorRef& one) {
    if (options_.smoothing == 0) return std::nullopt;
    const double smoothing =
        options_.smoothing_in_backward >= 0 ? options_.smoothing_in_backward : options_.smoothing;
    TensorRef each = scale(one, smoothing / kClasses);
    if (divisor_) each = call("aten::div", {each, *divisor_}, each, "Tensor");
    TensorRef rows = each;
    rows.sizes = {kRows};
    rows.strides = {options_.reduction == kNone ? 1 : 0};
    TensorRef dense = rows;
    dense.strides = {1};
    each = call("aten::masked_fill", {rows, *mask_, std::int64_t{0}}, dense, "Scalar");
    each = call("aten::neg", {each}, dense);
    each.sizes = {kRows, kClasses};
    each.strides = {1, 0};
    if (weights_) each = call("aten::mul", {each, row_of_weights()}, p_, "Tensor");
    return each;
  }

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
  TensorRef call(const std::string& name,
                 std::vector<Argument> arguments,
                 const TensorRef& like,
                 const std::string& overload = {}) {
    TensorRef result = like;
    append(name, std::move(arguments), {&result});
    builder_.last().overload = overload;
    return result;
  }
  TensorRef convert(const TensorRef& from, DType to) {
    TensorRef like = from;
    like.dtype = to;
    return call(
        "aten::_to_copy", {from, std::int64_t{6}, None{}, None{}, None{}, false, None{}}, like);
  }

  LossOptions options_;
  TensorRef p_, target_;
  std::optional<TensorRef> weights_, mask_, divisor_;
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
  EXPECT_THAT(kept({.reduction = 7}), HasSubstr("has no known reduction"));
  EXPECT_THAT(kept({.dimension = 0}), HasSubstr("is not over dense rows of classes"));
  EXPECT_THAT(kept({.reads_log_softmax = true}), HasSubstr("(aten::exp) uses the log-softmax too"));
  EXPECT_THAT(kept({.reads_logits_later = true}),
              HasSubstr("(aten::exp) uses the logits after the loss"));
  EXPECT_THAT(kept({.logits_are_an_input = true}), HasSubstr("no operator of forward makes"));
}

const Operator& call_named(const Program& program, std::string_view name) {
  return *std::find_if(program.operators.begin(), program.operators.end(), [&](const Operator& op) {
    return op.name == name;
  });
}

TEST(FusedLoss, TakesLabelSmoothingWithEveryReductionAndWithWeights) {
  for (const std::int64_t reduction : {kNone, kMean, kSum}) {
    for (const std::optional<DType> weights :
         {std::optional<DType>(), std::optional(DType::kFloat32)}) {
      const FusedLoss result = fuse_loss(
          LossProgram({.reduction = reduction, .smoothing = 0.1, .weights = weights}).build());
      ASSERT_THAT(result.kept, IsEmpty()) << reduction;
      const auto label_smoothing = [&](std::string_view name, std::size_t position) {
        return std::get<double>(call_named(result.program, name).arguments.at(position));
      };
      EXPECT_DOUBLE_EQ(label_smoothing(operators::kFusedLoss, 5), 0.1);
      EXPECT_DOUBLE_EQ(label_smoothing(operators::kFusedLossBackward, 6), 0.1);
      std::vector<std::string> left = {"aten::mm", std::string(operators::kFusedLoss)};
      if (reduction == kNone) left.emplace_back("aten::mean");
      left.insert(
          left.end(),
          {"aten::ones_like", std::string(operators::kFusedLossBackward), "aten::t", "aten::mm"});
      EXPECT_EQ(names(result.program), left) << reduction;
      EXPECT_NO_THROW((void)program::analyse_lifetimes(result.program));
    }
  }
}

TEST(FusedLoss, WithoutReductionTheLossesOfRowsStayATensor) {
  const Program program = fuse_loss(LossProgram({.reduction = kNone}).build()).program;
  const Operator& loss = call_named(program, operators::kFusedLoss);
  EXPECT_THAT(std::get<TensorRef>(loss.outputs[0]).sizes, ElementsAre(kRows));
  const Operator& mean = call_named(program, "aten::mean");
  EXPECT_EQ(std::get<TensorRef>(mean.arguments[0]), std::get<TensorRef>(loss.outputs[0]));
}

TEST(FusedLoss, ConvertsClassWeightsThatAreNotFp32) {
  const Program program = fuse_loss(LossProgram({.weights = DType::kBFloat16}).build()).program;
  const Operator& convert = call_named(program, "aten::_to_copy");
  const auto wide = std::get<TensorRef>(convert.outputs[0]);
  EXPECT_EQ(wide.dtype, DType::kFloat32);
  const Operator& loss = call_named(program, operators::kFusedLoss);
  EXPECT_EQ(std::get<TensorRef>(loss.arguments[2]), wide);
  const Operator& backward = call_named(program, operators::kFusedLossBackward);
  EXPECT_EQ(std::get<TensorRef>(backward.arguments[3]), wide);
}

TEST(FusedLoss, WhatOnlyLooksLikeLabelSmoothingStays) {
  const LossOptions smoothed{.smoothing = 0.1};
  LossOptions other = smoothed;
  other.smoothing_in_backward = 0.2;
  EXPECT_THAT(kept(other), HasSubstr("otherwise than label smoothing does"));
  other = smoothed;
  other.reads_smooth_part = true;
  EXPECT_THAT(kept(other), HasSubstr("(aten::exp)"));
  other = smoothed;
  other.divides_by_all_rows = true;
  EXPECT_THAT(kept(other), HasSubstr("otherwise than label smoothing does"));
  other = smoothed;
  other.reads_log_softmax = true;
  EXPECT_THAT(kept(other), HasSubstr("(aten::exp) uses the log-softmax too"));
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
