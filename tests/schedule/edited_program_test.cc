// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
// The program that runs under a plan: the captured one with the plan's edits.
#include "schedule/edited_program.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "edit/activations.h"
#include "edit/offload.h"
#include "fakes/error_of.h"
#include "fakes/program_builder.h"
#include "program/lifetimes.h"

namespace elixir::schedule {
namespace {

program::Program captured() {
  fakes::TransformerOptions options;
  options.layers = 3;
  return fakes::transformer(options);
}

/// A plan whose edits recompute what is inside the blocks of `program`.
plan::Plan recomputing(const program::Program& program) {
  plan::Plan plan;
  plan.edits = {{.kind = plan::Edit::Kind::kRecompute,
                 .storages = edit::choose(program, edit::Recompute::kBlocks)}};
  plan.edited_fingerprint = program::fingerprint(apply_edits(program, plan.edits));
  return plan;
}

TEST(EditedProgram, WithoutEditsIsTheCapturedOne) {
  const program::Program program = captured();
  EXPECT_EQ(program::fingerprint(edited_program(program, {})), program::fingerprint(program));
}

TEST(EditedProgram, IsTheOneThatThePlanNames) {
  const program::Program program = captured();
  const plan::Plan plan = recomputing(program);
  const program::Program running = edited_program(program, plan);
  EXPECT_EQ(program::fingerprint(running), plan.edited_fingerprint);
  EXPECT_NE(program::fingerprint(running), program::fingerprint(program));
  EXPECT_LT(edit::kept_activations(running).size(), edit::kept_activations(program).size());
}

TEST(EditedProgram, OfAnotherFingerprintIsRefused) {
  const program::Program program = captured();
  plan::Plan plan = recomputing(program);
  plan.edited_fingerprint = program::fingerprint(program);
  const ErrorInfo error = tests::error_of([&] { (void)edited_program(program, plan); });
  EXPECT_EQ(error.code, ErrorCode::kInconsistentPlan);
  EXPECT_EQ(error.notes.size(), 2);
  auto& storages = plan.edits[0].storages;
  storages.resize(storages.size() / 2);  // recomputes less than was planned on
  plan.edited_fingerprint = recomputing(program).edited_fingerprint;
  EXPECT_EQ(tests::error_of([&] { (void)edited_program(program, plan); }).code,
            ErrorCode::kInconsistentPlan);
}

TEST(EditedProgram, AnEditOfWhatIsNoActivationNamesIt) {
  const program::Program program = captured();
  const program::Lifetimes lifetimes = program::analyse_lifetimes(program);
  const auto of_backward = std::find_if(
      program.operators.rbegin(), program.operators.rend(), [](const program::Operator& op) {
        return op.phase == program::Phase::kBackward;
      });
  ASSERT_NE(of_backward, program.operators.rend());
  const auto count = static_cast<program::StorageId>(program.storages.size());
  std::vector<program::StorageId> wrong = {count, -1, program.parameters[0].tensor.storage};
  for (program::StorageId s = 0; s < count; ++s) {
    if (lifetimes.storages[s].producer == of_backward->id) wrong.push_back(s);
  }
  for (const program::StorageId storage : wrong) {
    const ErrorInfo error = tests::error_of([&] {
      (void)apply_edits(program, {{.kind = plan::Edit::Kind::kRecompute, .storages = {storage}}});
    });
    EXPECT_EQ(error.code, ErrorCode::kInconsistentPlan);
    EXPECT_THAT(error.message, testing::HasSubstr(std::to_string(storage)));
  }
}

TEST(EditedProgram, OffloadsWhatIsKeptAndNamesWhatIsNot) {
  const program::Program program = captured();
  plan::Edit edit{.kind = plan::Edit::Kind::kOffload, .storages = edit::offloadable(program)};
  EXPECT_EQ(edit::kept_bytes(apply_edits(program, {edit})), 0);
  const program::StorageId parameter = program.parameters[0].tensor.storage;
  edit.storages.push_back(parameter);
  const ErrorInfo error = tests::error_of([&] { (void)apply_edits(program, {edit}); });
  EXPECT_EQ(error.code, ErrorCode::kInconsistentPlan);
  EXPECT_THAT(error.message, testing::HasSubstr("offloads storage " + std::to_string(parameter)));
}

/// Logits of 1,029 classes in bf16 and their loss without backward, so that no loss can be fused.
program::Program unaligned(bool has_loss) {
  using program::TensorRef;
  fakes::ProgramBuilder builder(program::DType::kBFloat16,
                                {.kind = program::Target::Kind::kCuda, .sm = 90});
  const TensorRef x = builder.input("x", {8, 64}, program::DType::kBFloat16);
  const TensorRef target = builder.input("target", {8});
  const TensorRef weight = builder.parameter("weight", {64, 1029});
  const TensorRef logits = builder.call("aten::mm", {x, weight}, {8, 1029});
  if (has_loss) {
    TensorRef loss, total;
    builder.append("aten::nll_loss_forward",
                   {logits, target, program::None{}, std::int64_t{1}, std::int64_t{-100}},
                   {&loss, &total});
  }
  return builder.build();
}

TEST(FusedArithmetic, AlignsProductsAndTellsOfLossesThatItDoesNotKnow) {
  const FusedArithmetic with_loss = with_fused_arithmetic(unaligned(true));
  ASSERT_EQ(with_loss.edits.size(), 1U);
  EXPECT_EQ(with_loss.edits[0].kind, plan::Edit::Kind::kAlignProducts);
  EXPECT_THAT(with_loss.losses_kept,
              testing::ElementsAre(testing::HasSubstr("not given the result of a log-softmax")));
  EXPECT_EQ(program::fingerprint(apply_edits(unaligned(true), with_loss.edits)),
            program::fingerprint(with_loss.program));
  EXPECT_THAT(with_fused_arithmetic(unaligned(false)).losses_kept, testing::IsEmpty());
}

TEST(FusedArithmetic, WithoutAnythingToFuseIsTheCapturedProgram) {
  const FusedArithmetic result = with_fused_arithmetic(captured());
  EXPECT_THAT(result.edits, testing::IsEmpty());
  EXPECT_THAT(result.losses_kept, testing::IsEmpty());
  EXPECT_EQ(program::fingerprint(result.program), program::fingerprint(captured()));
}

/// exp and neg, one after the other.
program::Program elementwise() {
  fakes::ProgramBuilder builder;
  const program::TensorRef x = builder.input("x", {8, 64}, program::DType::kFloat32);
  const program::TensorRef e = builder.call("aten::exp", {x}, {8, 64});
  const program::TensorRef n = builder.call("aten::neg", {e}, {8, 64});
  (void)builder.call("aten::mm", {n, n}, {8, 8});
  return builder.build();
}

TEST(FusedArithmetic, FusesElementwiseOperatorsOnlyWhereItIsAsked) {
  EXPECT_THAT(with_fused_arithmetic(elementwise()).edits, testing::IsEmpty());
  const FusedArithmetic result =
      with_fused_arithmetic(elementwise(), plan::Arithmetic::kFusedElementwise);
  ASSERT_EQ(result.edits.size(), 1U);
  EXPECT_EQ(result.edits[0].kind, plan::Edit::Kind::kFuseElementwise);
  EXPECT_EQ(result.program.operators.size(), 2U);
  EXPECT_EQ(program::fingerprint(apply_edits(elementwise(), result.edits)),
            program::fingerprint(result.program));
}

TEST(EditedProgram, AnEditThatFindsNothingToFuseIsRefused) {
  const ErrorInfo error = tests::error_of(
      [&] { (void)apply_edits(unaligned(true), {{.kind = plan::Edit::Kind::kFuseElementwise}}); });
  EXPECT_EQ(error.code, ErrorCode::kInconsistentPlan);
  EXPECT_THAT(error.message, testing::HasSubstr("none to fuse"));
}

TEST(EditedProgram, AnEditOfWhatIsNoProductNamesIt) {
  const program::Program program = unaligned(true);
  for (const program::OperatorId op : {1, -1, 77}) {
    const ErrorInfo error = tests::error_of([&] {
      (void)apply_edits(program, {{.kind = plan::Edit::Kind::kAlignProducts, .products = {op}}});
    });
    EXPECT_EQ(error.code, ErrorCode::kInconsistentPlan);
    EXPECT_THAT(error.message, testing::HasSubstr("operator " + std::to_string(op)));
  }
}

}  // namespace
}  // namespace elixir::schedule
