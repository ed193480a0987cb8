// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "edit/loss/token_mean.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "edit/dataflow.h"
#include "edit/loss/loss_gradient.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"

namespace elixir::edit {
namespace {

using fakes::DType;
using fakes::ProgramBuilder;
using fakes::TensorRef;
using program::None;
using program::Operator;
using program::Program;

struct ClassifierOptions {
  std::int64_t reduction = 1;      ///< at::Reduction: the mean
  bool replaces_labels = false;    ///< by masked_fill, as models shift them
  bool labels_from_model = false;  ///< a teacher's
  bool labels_by_chance = false;
  bool scales_loss = false;
  bool writes_seed = false;
};

/// A linear classifier.
Program classifier(const ClassifierOptions& options) {
  constexpr std::int64_t kSamples = 4, kFeatures = 3, kLabels = 5;
  ProgramBuilder builder;
  const TensorRef x = builder.input("x", {kSamples, kFeatures}, DType::kFloat32);
  TensorRef target = builder.input("target", {kSamples});
  const TensorRef weight = builder.parameter("weight", {kFeatures, kLabels});
  const TensorRef logits = builder.call("aten::mm", {x, weight}, {kSamples, kLabels});
  const auto like_target = [&](const char* name, std::vector<program::Argument> arguments) {
    TensorRef result = target;
    builder.append(name, std::move(arguments), {&result});
    return result;
  };
  if (options.replaces_labels) {
    TensorRef mask = target;
    mask.dtype = DType::kBool;
    builder.append("aten::eq", {target, std::int64_t{-1}}, {&mask});
    builder.last().overload = "Scalar";
    target = like_target("aten::masked_fill", {target, mask, std::int64_t{-100}});
    builder.last().overload = "Scalar";
  }
  if (options.labels_from_model) {
    target = like_target("aten::argmax", {logits, std::int64_t{1}, false});
  }
  if (options.labels_by_chance) target = like_target("aten::bernoulli", {target, None{}});
  TensorRef p = logits;
  builder.append("aten::_log_softmax", {logits, std::int64_t{1}, false}, {&p});
  TensorRef loss;
  loss.dtype = DType::kFloat32;
  TensorRef total = loss;
  builder.append("aten::nll_loss_forward",
                 {p, target, None{}, options.reduction, std::int64_t{-100}},
                 {&loss, &total});
  TensorRef value = loss;
  if (options.scales_loss) builder.append("aten::mul", {loss, 0.5}, {&value});
  builder.set_loss(value);
  builder.start_backward();
  TensorRef one = value;
  builder.append("aten::ones_like", {value, None{}, None{}, None{}, None{}, None{}}, {&one});
  if (options.writes_seed) one = builder.write("aten::mul_", one, {one});
  TensorRef g = p;
  builder.append("aten::nll_loss_backward",
                 {one, p, target, None{}, options.reduction, std::int64_t{-100}, total},
                 {&g});
  TensorRef d = p;
  builder.append(
      "aten::_log_softmax_backward_data", {g, p, std::int64_t{1}, std::int64_t{6}}, {&d});
  const TensorRef gradient = builder.call("aten::mm", {x, d}, {kFeatures, kLabels});
  builder.set_gradient(weight, gradient);
  return builder.build();
}

bool has_call(const Program& program, const std::string& name) {
  return std::any_of(program.operators.begin(), program.operators.end(), [&](const Operator& op) {
    return op.name == name;
  });
}

TEST(LossGradient, BecomesTheLastInput) {
  const Program program = classifier({});
  const auto edited = take_loss_gradient(program);
  ASSERT_TRUE(edited.has_value());
  EXPECT_EQ(edited->operators.size(), program.operators.size() - 1);
  EXPECT_FALSE(has_call(*edited, "aten::ones_like"));
  ASSERT_EQ(edited->inputs.size(), program.inputs.size() + 1);
  const program::Input& gradient = edited->inputs.back();
  EXPECT_EQ(gradient.name, kLossGradient);
  EXPECT_EQ(gradient.tensor.numel(), 1);
  for (const Operator& op : edited->operators) {
    EXPECT_EQ(op.id, &op - edited->operators.data());
    if (op.name != "aten::nll_loss_backward") continue;
    EXPECT_EQ(std::get<TensorRef>(op.arguments[0]).storage, gradient.tensor.storage);
  }
  const program::Lifetimes lifetimes = program::analyse_lifetimes(*edited);
  EXPECT_EQ(lifetimes.storages[static_cast<std::size_t>(gradient.tensor.storage)].origin,
            program::Origin::kInput);
  EXPECT_FALSE(take_loss_gradient(*edited).has_value());
}

TEST(LossGradient, IsThatOfAnyLoss) {
  EXPECT_TRUE(take_loss_gradient(classifier({.reduction = 2})).has_value());
  EXPECT_TRUE(take_loss_gradient(classifier({.scales_loss = true})).has_value());
  EXPECT_FALSE(take_loss_gradient(classifier({.writes_seed = true})).has_value());
}

TEST(TokenMean, LabelsAreMadeOnTheHostFromInputsAlone) {
  EXPECT_TRUE(find_token_mean(classifier({}))->makes_labels.empty());
  const Program program = classifier({.replaces_labels = true});
  const auto mean = find_token_mean(program);
  ASSERT_TRUE(mean.has_value());
  const Program labels = labels_program(program, *mean);
  ASSERT_EQ(labels.operators.size(), 2U);
  EXPECT_EQ(labels.operators[0].name, "aten::eq");
  EXPECT_EQ(labels.operators[1].name, "aten::masked_fill");
  EXPECT_EQ(labels.target.kind, program::DeviceKind::kCpu);
}

TEST(TokenMean, AnythingElseCountsByMicroBatches) {
  EXPECT_FALSE(find_token_mean(classifier({.reduction = 2})).has_value());
  EXPECT_FALSE(find_token_mean(classifier({.labels_from_model = true})).has_value());
  EXPECT_FALSE(find_token_mean(classifier({.labels_by_chance = true})).has_value());
  EXPECT_FALSE(find_token_mean(classifier({.scales_loss = true})).has_value());
}

}  // namespace
}  // namespace elixir::edit
