// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "program/arguments/arguments.h"

#include <string>

#include <gtest/gtest.h>

#include "core/error.h"

namespace elixir::program {
namespace {

Operator call_of(const std::string& name, const std::string& overload = {}) {
  Operator op;
  op.name = name;
  op.overload = overload;
  TensorRef self;
  self.sizes = {2, 3};
  op.arguments = {self, Ints{1}, true};
  return op;
}

ErrorCode code_of_asking(const Operator& op, const char* name) {
  try {
    static_cast<void>(Arguments(op).flag(name));
  } catch (const Error& error) {
    return error.info().code;
  }
  ADD_FAILURE() << "no error";
  return ErrorCode::kUnknownFlag;
}

TEST(Arguments, AreFoundByName) {
  const Operator op = call_of("aten::sum", "dim_IntList");
  const Arguments call(op);
  EXPECT_EQ(call.tensor("self"), &std::get<TensorRef>(op.arguments[0]));
  EXPECT_EQ(call.integers("dim"), Ints{1});
  EXPECT_TRUE(call.flag("keepdim"));
}

TEST(Arguments, ThatADocumentLacksOrHasInAnotherTypeAreNotThere) {
  const Operator op = call_of("aten::_ctc_loss");
  const Arguments call(op);
  EXPECT_EQ(call.integer("blank"), std::nullopt);
  EXPECT_EQ(call.tensor("targets"), nullptr);
  EXPECT_FALSE(call.flag("zero_infinity"));
}

TEST(Arguments, OfAnotherOverloadHaveTheNamesOfTheOperatorWithoutOne) {
  const Operator plain = call_of("aten::mm", "dtype");
  EXPECT_TRUE(Arguments(plain).have("mat2"));
  const Operator whole = call_of("aten::sum");
  EXPECT_FALSE(Arguments(whole).have("dim"));
}

TEST(Arguments, OfUnknownNamesAreABug) {
  EXPECT_EQ(code_of_asking(call_of("aten::mm"), "dim"), ErrorCode::kInternal);
  EXPECT_EQ(code_of_asking(call_of("aten::unheard_of"), "self"), ErrorCode::kInternal);
}

}  // namespace
}  // namespace elixir::program
