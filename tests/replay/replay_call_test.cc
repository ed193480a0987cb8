// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "replay/replay_call.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>

#include "core/error.h"

namespace elixir::replay {
namespace {

using program::Argument;
using program::Ints;
using program::None;
using program::Program;
using program::TensorRef;

TensorRef dense(program::StorageId storage, Ints sizes, std::int32_t version = 0) {
  TensorRef ref;
  ref.storage = storage;
  ref.version = version;
  ref.sizes = sizes;
  ref.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) ref.strides[i - 1] = ref.strides[i] * sizes[i];
  return ref;
}

/// A program of one call.
Program program_of(const std::string& name,
                   const std::string& overload,
                   std::vector<Argument> arguments,
                   std::vector<Argument> outputs,
                   bool writes = false) {
  Program program;
  program.target.kind = program::Target::Kind::kCpu;
  program::Operator op;
  op.id = 0;
  op.name = name;
  op.overload = overload;
  op.arguments = std::move(arguments);
  op.outputs = std::move(outputs);
  op.writes = writes;
  const auto note = [&program](const TensorRef& ref) {
    if (program.storages.size() <= static_cast<std::size_t>(ref.storage)) {
      program.storages.resize(ref.storage + 1);
    }
    program.storages[ref.storage].id = ref.storage;
    program.storages[ref.storage].bytes =
        std::max(program.storages[ref.storage].bytes, ref.bytes() + ref.offset * 4);
  };
  program::for_each_tensor(op.arguments, note);
  program::for_each_tensor(op.outputs, note);
  program.operators.push_back(std::move(op));
  return program;
}

at::Tensor counting(std::int64_t n) {
  return at::arange(n, at::TensorOptions().dtype(c10::kFloat));
}

ErrorCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.info().code;
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kInternal;
}

TEST(ReplayCall, RunsAnOperatorOnStoragesAndBindsItsResult) {
  const Program program =
      program_of("aten::mm", "", {dense(0, {2, 3}), dense(1, {3, 4})}, {dense(2, {2, 4})});
  replay::ReplayCall call(program, 0);
  EXPECT_THAT(call.fresh(), testing::ElementsAre(2));
  const at::Tensor a = counting(6), b = counting(12);
  replay::StorageTable storages{a.storage(), b.storage(), {}};
  const replay::ReplayScope scope;
  call.run(storages);
  EXPECT_TRUE(at::equal(replay::make_shell(storages[2], dense(2, {2, 4})),
                        at::mm(a.view({2, 3}), b.view({3, 4}))));
}

TEST(ReplayCall, KeepsNoStorageAliveBetweenCalls) {
  const Program program =
      program_of("aten::mm", "", {dense(0, {2, 3}), dense(1, {3, 4})}, {dense(2, {2, 4})});
  replay::ReplayCall call(program, 0);
  at::Tensor a = counting(6);
  replay::StorageTable storages{a.storage(), counting(12).storage(), {}};
  const replay::ReplayScope scope;
  call.run(storages);
  storages[0] = {};
  EXPECT_EQ(a.storage().use_count(), 1U);
  EXPECT_EQ(storages[2].use_count(), 1U);
}

TEST(ReplayCall, SeesTheStorageThatIsInTheTableNow) {
  const Program program = program_of("aten::neg", "", {dense(0, {3})}, {dense(1, {3})});
  replay::ReplayCall call(program, 0);
  const replay::ReplayScope scope;
  for (const float value : {1.0F, 2.0F}) {
    const at::Tensor input = counting(3).add_(value);
    replay::StorageTable storages{input.storage(), {}};
    call.run(storages);
    EXPECT_TRUE(at::equal(replay::make_shell(storages[1], dense(1, {3})), input.neg()));
  }
}

TEST(ReplayCall, WritesAProductWhereItIsTold) {
  const Program program =
      program_of("aten::mm", "", {dense(0, {2, 3}), dense(1, {3, 4})}, {dense(2, {2, 4})});
  replay::ReplayCall call(program, 0);
  const replay::ReplayScope scope;
  const at::Tensor left = counting(6), right = counting(12);
  const at::Tensor there = at::full({8}, std::numeric_limits<float>::quiet_NaN());
  replay::StorageTable storages{left.storage(), right.storage(), there.storage()};
  call.run(storages, /*into_given=*/true);
  EXPECT_EQ(storages[2].data(), there.storage().data());
  EXPECT_TRUE(at::equal(there.view({2, 4}), at::mm(left.view({2, 3}), right.view({3, 4}))));
  call.run(storages);
  EXPECT_NE(storages[2].data(), there.storage().data());
}

TEST(ReplayCall, RefusesToWriteWhereThereIsNothingOrAnotherOperator) {
  const replay::ReplayScope scope;
  const Program product =
      program_of("aten::mm", "", {dense(0, {2, 3}), dense(1, {3, 4})}, {dense(2, {2, 4})});
  replay::StorageTable nowhere{counting(6).storage(), counting(12).storage(), {}};
  EXPECT_THROW(replay::ReplayCall(product, 0).run(nowhere, /*into_given=*/true), Error);
  const Program negative = program_of("aten::neg", "", {dense(0, {3})}, {dense(1, {3})});
  replay::StorageTable storages{counting(3).storage(), counting(3).storage()};
  EXPECT_THROW(replay::ReplayCall(negative, 0).run(storages, /*into_given=*/true), Error);
}

TEST(ReplayCall, TakesListsOfTensorsAndTypesEmptyListsByTheSchema) {
  const Program cat = program_of("aten::cat",
                                 "",
                                 {program::Tensors{dense(0, {2}), dense(1, {3})}, std::int64_t{0}},
                                 {dense(2, {5})});
  replay::ReplayCall call(cat, 0);
  replay::StorageTable storages{counting(2).storage(), counting(3).storage(), {}};
  const replay::ReplayScope scope;
  call.run(storages);
  EXPECT_TRUE(at::equal(replay::make_shell(storages[2], dense(2, {5})),
                        at::cat({counting(2), counting(3)})));

  // index.Tensor: Tensor?[] with an undefined entry.
  const TensorRef picked = [] {
    TensorRef ref = dense(1, {2});
    ref.dtype = program::DType::kInt64;
    return ref;
  }();
  const Program index = program_of("aten::index",
                                   "Tensor",
                                   {dense(0, {2, 3}), program::Tensors{std::nullopt, picked}},
                                   {dense(2, {2, 2})});
  replay::ReplayCall indexing(index, 0);
  const at::Tensor columns = at::arange(2, at::TensorOptions().dtype(c10::kLong));
  replay::StorageTable table{counting(6).storage(), columns.storage(), {}};
  indexing.run(table);
  EXPECT_TRUE(at::equal(replay::make_shell(table[2], dense(2, {2, 2})),
                        counting(6).view({2, 3}).slice(1, 0, 2)));
}

TEST(ReplayCall, SplitsAListResultIntoFreshStorages) {
  const Program program = program_of("aten::_foreach_neg",
                                     "",
                                     {program::Tensors{dense(0, {2}), dense(1, {3})}},
                                     {program::Tensors{dense(2, {2}), dense(3, {3})}});
  replay::ReplayCall call(program, 0);
  EXPECT_THAT(call.fresh(), testing::ElementsAre(2, 3));
  replay::StorageTable storages{counting(2).storage(), counting(3).storage(), {}, {}};
  const replay::ReplayScope scope;
  call.run(storages);
  EXPECT_TRUE(at::equal(replay::make_shell(storages[3], dense(3, {3})), counting(3).neg()));
}

TEST(ReplayCall, WritesIntoItsArgument) {
  const Program program = program_of("aten::mul_",
                                     "Scalar",
                                     {dense(0, {3}), 2.0},
                                     {dense(0, {3}, 1)},
                                     /*writes=*/true);
  replay::ReplayCall call(program, 0);
  EXPECT_TRUE(call.fresh().empty());
  const at::Tensor tensor = counting(3);
  replay::StorageTable storages{tensor.storage()};
  const replay::ReplayScope scope;
  call.run(storages);
  call.run(storages);
  EXPECT_TRUE(at::equal(tensor, counting(3).mul(4.0)));
}

TEST(ReplayCall, KeepsAWrappedNumberFromPromotingTheResult) {
  TensorRef number = dense(1, {});
  number.wrapped_number = true;
  number.dtype = program::DType::kFloat64;
  const Program program =
      program_of("aten::mul", "Tensor", {dense(0, {3}), number}, {dense(2, {3})});
  replay::ReplayCall call(program, 0);
  const at::Tensor half = at::arange(1, at::TensorOptions().dtype(c10::kDouble)).add_(0.5);
  replay::StorageTable storages{counting(3).storage(), half.storage(), {}};
  const replay::ReplayScope scope;
  call.run(storages);  // the program says float32; float64 would be an error
  EXPECT_TRUE(at::equal(replay::make_shell(storages[2], dense(2, {3})), counting(3).mul(0.5)));
}

TEST(ReplayCall, RefusesAnOperatorThatLibTorchLacks) {
  const Program program = program_of("aten::no_such_operator", "", {}, {});
  EXPECT_EQ(code_of([&] { replay::ReplayCall(program, 0); }), ErrorCode::kMissingKernel);
}

TEST(ReplayCall, RefusesWhatNoModelMayCall) {
  // A document may name any operator of LibTorch. This one opens a file.
  const Program program = program_of(
      "aten::from_file",
      "",
      {std::string("/etc/passwd"), true, std::int64_t{4}, None{}, None{}, None{}, None{}},
      {dense(0, {4})});
  EXPECT_EQ(code_of([&] { replay::ReplayCall(program, 0); }), ErrorCode::kUnsupportedModel);
  try {
    refuse_what_is_not_allowed(program, "hostile.profile.json");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kUnsupportedModel);
    EXPECT_THAT(error.info().message, testing::HasSubstr("aten::from_file"));
    ASSERT_TRUE(error.info().where);
    EXPECT_EQ(error.info().where->file, "hostile.profile.json");
    EXPECT_EQ(error.info().where->pointer, "/operators/0/name");
  }
  EXPECT_NO_THROW(refuse_what_is_not_allowed(
      program_of("aten::mm", "", {dense(0, {2, 3}), dense(1, {3, 4})}, {dense(2, {2, 4})}), "x"));
}

TEST(ReplayCall, RefusesArgumentsThatDoNotFitTheSchema) {
  const Program too_few = program_of("aten::mm", "", {dense(0, {2, 3})}, {dense(1, {2, 4})});
  EXPECT_EQ(code_of([&] { replay::ReplayCall(too_few, 0); }), ErrorCode::kInternal);
  const Program wrong_list =
      program_of("aten::cat", "", {Ints{1, 2}, std::int64_t{0}}, {dense(0, {5})});
  EXPECT_EQ(code_of([&] { replay::ReplayCall(wrong_list, 0); }), ErrorCode::kInternal);
}

TEST(ReplayCall, NoticesAResultOfAnotherGeometry) {
  const Program program =
      program_of("aten::mm", "", {dense(0, {2, 3}), dense(1, {3, 4})}, {dense(2, {4, 2})});
  replay::ReplayCall call(program, 0);
  replay::StorageTable storages{counting(6).storage(), counting(12).storage(), {}};
  const replay::ReplayScope scope;
  EXPECT_EQ(code_of([&] { call.run(storages); }), ErrorCode::kInternal);
}

TEST(ReplayCall, TakesAnyStrideOfADimensionOfOne) {
  TensorRef result = dense(1, {1, 3});
  result.strides = {7, 1};
  const Program program = program_of("aten::neg", "", {dense(0, {1, 3})}, {result});
  replay::ReplayCall call(program, 0);
  replay::StorageTable storages{counting(3).storage(), {}};
  const replay::ReplayScope scope;
  call.run(storages);
  EXPECT_TRUE(at::equal(replay::make_shell(storages[1], result), counting(3).neg().view({1, 3})));
}

TEST(ReplayCall, NoticesAnotherStride) {
  TensorRef result = dense(1, {2, 3});
  result.strides = {1, 2};
  const Program program = program_of("aten::neg", "", {dense(0, {2, 3})}, {result});
  replay::ReplayCall call(program, 0);
  replay::StorageTable storages{counting(6).storage(), {}};
  const replay::ReplayScope scope;
  EXPECT_EQ(code_of([&] { call.run(storages); }), ErrorCode::kInternal);
}

TEST(ReplayCall, NoticesAStorageThatIsNotThere) {
  const Program program = program_of("aten::neg", "", {dense(0, {3})}, {dense(1, {3})});
  replay::ReplayCall call(program, 0);
  replay::StorageTable storages{{}, {}};
  const replay::ReplayScope scope;
  EXPECT_EQ(code_of([&] { call.run(storages); }), ErrorCode::kInternal);
}

}  // namespace
}  // namespace elixir::replay
