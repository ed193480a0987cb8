// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/lifetimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "fakes/program_builder.h"

namespace elixir::program {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Lifetimes, OfATinyProgramAreAsWritten) {
  fakes::ProgramBuilder builder;
  const TensorRef x = builder.input("x", {2, 3}, DType::kFloat32);  // storage 0
  const TensorRef w = builder.parameter("w", {4, 3});               // 1
  const TensorRef view = builder.view("aten::t", w, {3, 4});        // operator 0
  const TensorRef y = builder.call("aten::mm", {x, view}, {2, 4});  // operator 1, storage 2
  const TensorRef loss = builder.call("aten::mean", {y}, Ints{});   // operator 2, storage 3
  builder.set_loss(loss);
  builder.start_backward();
  const TensorRef g = builder.call("aten::mean_backward", {loss}, {2, 4});  // operator 3, storage 4
  TensorRef gradient = builder.call("aten::mm", {g, x}, {4, 3});            // operator 4, storage 5
  gradient = builder.write("aten::add_", gradient, {w});                    // operator 5
  builder.set_gradient(w, gradient);
  const Lifetimes lifetimes = analyse_lifetimes(builder.build());

  EXPECT_THAT(lifetimes.executed, ElementsAre(false, true, true, true, true, true));
  EXPECT_THAT(
      lifetimes.parameters_used,
      ElementsAre(IsEmpty(), ElementsAre(0), IsEmpty(), IsEmpty(), IsEmpty(), ElementsAre(0)));
  EXPECT_THAT(lifetimes.gradient_ready, ElementsAre(5));
  EXPECT_EQ(lifetimes.storages[0].origin, Origin::kInput);
  EXPECT_EQ(lifetimes.storages[1].origin, Origin::kParameter);
  EXPECT_EQ(lifetimes.storages[2].producer, 1);
  EXPECT_EQ(lifetimes.storages[2].last_use, 2);
  EXPECT_EQ(lifetimes.storages[0].last_use, 4);
  // The loss (3) and the gradient (5) are kept, because their consumer releases them.
  EXPECT_THAT(
      lifetimes.released_after,
      ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(2), IsEmpty(), ElementsAre(4), IsEmpty()));
}

TEST(Lifetimes, OfAReplayTakeThePlaceOfAutograds) {
  const Program eager = fakes::mlp({4, 8, 4}, 2);
  const Lifetimes lifetimes = analyse_lifetimes(eager);
  const Program replayed = with_replay_lifetimes(eager);
  const auto end = static_cast<OperatorId>(eager.operators.size());
  int kept = 0;
  for (const Storage& storage : replayed.storages) {
    const StorageUse& use = lifetimes.storages[storage.id];
    if (use.origin != Origin::kProduced) {
      EXPECT_EQ(storage.allocated_at, eager.storages[storage.id].allocated_at);
      continue;
    }
    EXPECT_EQ(storage.allocated_at, use.producer);
    if (storage.freed_after == end) {
      ++kept;
    } else {
      EXPECT_EQ(storage.freed_after, use.last_use) << storage.id;
    }
  }
  EXPECT_EQ(kept, 1 + static_cast<int>(eager.parameters.size()));  // the loss and the gradients
}

TEST(Lifetimes, WhatExistedBeforeTheStepOutlivesOperatorsThatAnEditAdded) {
  Program program = fakes::mlp({4, 8, 4}, 2);
  program.operators.push_back(program.operators.back());
  program.operators.back().id = static_cast<OperatorId>(program.operators.size() - 1);
  const Program replayed = with_replay_lifetimes(program);
  const auto end = static_cast<OperatorId>(program.operators.size());
  for (const program::Parameter& parameter : replayed.parameters) {
    EXPECT_EQ(replayed.storages[parameter.tensor.storage].freed_after, end) << parameter.name;
  }
}

TEST(Lifetimes, AResultThatNobodyReadsGoesAtOnce) {
  fakes::ProgramBuilder builder;
  const TensorRef x = builder.input("x", {2}, DType::kFloat32);
  builder.call("aten::relu", {x}, {2});
  builder.set_loss(builder.call("aten::mean", {x}, Ints{}));
  const Lifetimes lifetimes = analyse_lifetimes(builder.build());
  EXPECT_THAT(lifetimes.released_after[0], ElementsAre(1));
}

TEST(Lifetimes, RefuseAStorageUsedBeforeItIsProduced) {
  Program program = fakes::mlp({4, 4, 4}, 2);
  std::swap(program.operators[1], program.operators[2]);
  std::swap(program.operators[1].id, program.operators[2].id);
  EXPECT_THROW((void)analyse_lifetimes(program), Error);
}

TEST(Lifetimes, RefuseAVersionThatWasNotWritten) {
  Program program = fakes::mlp({4, 4}, 2);
  std::get<TensorRef>(program.operators.back().arguments[0]).version = 7;
  EXPECT_THROW((void)analyse_lifetimes(program), Error);
}

TEST(Lifetimes, OrderOfFirstUseIsOperandOrder) {
  fakes::ProgramBuilder builder;
  const TensorRef a = builder.parameter("a", {2});
  const TensorRef b = builder.parameter("b", {2});
  const TensorRef never = builder.parameter("never", {2});
  builder.call("aten::add", {b, a}, {2});
  const Program program = builder.build();
  EXPECT_THAT(order_of_first_use(program, analyse_lifetimes(program)), ElementsAre(1, 0, 2));
  EXPECT_EQ(never.storage, 2);
}

}  // namespace
}  // namespace elixir::program
