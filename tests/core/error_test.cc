// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/interrupt.h"

namespace elixir {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ErrorCode, GroupFixesTheExitCode) {
  EXPECT_EQ(exit_code_of(ErrorCode::kUnknownFlag), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kJsonSyntax), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kNotTorchScript), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kPlanOfAnotherProgram), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kDataTooShort), 2);
  EXPECT_EQ(exit_code_of(ErrorCode::kNoGpu), 3);
  EXPECT_EQ(exit_code_of(ErrorCode::kDiskFull), 4);
  EXPECT_EQ(exit_code_of(ErrorCode::kInternal), 70);
}

TEST(ErrorCode, TextHasFourDigits) {
  EXPECT_EQ(code_text(ErrorCode::kOutputExists), "EX0203");
}

TEST(Error, WhatNamesCodeMessageAndPlace) {
  ErrorInfo info;
  info.code = ErrorCode::kJsonType;
  info.message = "expected an integer, found true";
  info.where = SourcePos{"plan.json", "/chunks/0/bytes", 14, std::nullopt};
  EXPECT_STREQ(Error(info).what(),
               "EX0206: expected an integer, found true (plan.json: /chunks/0/bytes, line 14)");
  EXPECT_STREQ(Error(ErrorCode::kNoGpu, "no GPU").what(), "EX0601: no GPU");
}

TEST(Error, KeepsNotesAddedWhileUnwinding) {
  try {
    try {
      throw Error(ErrorCode::kIoError, "cannot write");
    } catch (Error& error) {
      error.note("while saving a checkpoint");
      throw;
    }
  } catch (const Error& error) {
    EXPECT_THAT(error.info().notes, ElementsAre("while saving a checkpoint"));
  }
}

TEST(Require, ThrowsInternalOnlyWhenBroken) {
  EXPECT_NO_THROW(require(true, "fine"));
  try {
    require(false, "blocks overlap");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.info().code, ErrorCode::kInternal);
    EXPECT_EQ(error.info().message, "blocks overlap");
  }
}

TEST(Nearest, OrdersByDistanceThenName) {
  EXPECT_THAT(nearest("--stps", {"--steps", "--stop", "--seed", "--lr"}),
              ElementsAre("--steps", "--stop"));
  EXPECT_THAT(nearest("ab", {"ad", "ac", "ab", "ae"}), ElementsAre("ab", "ac", "ad"));
}

TEST(Nearest, IgnoresFarAndTinyWords) {
  EXPECT_THAT(nearest("--profile", {"--hardware"}), IsEmpty());
  EXPECT_THAT(nearest("ab", {"xy", "q"}), IsEmpty());
  EXPECT_THAT(nearest("", {"a"}), IsEmpty());
}

TEST(Interrupt, IsRememberedUntilCleared) {
  EXPECT_FALSE(interrupted());
  EXPECT_NO_THROW(throw_if_interrupted());
  request_interrupt(15);
  EXPECT_TRUE(interrupted());
  EXPECT_EQ(interrupt_signal(), 15);
  EXPECT_THROW(throw_if_interrupted(), Interrupted);
  clear_interrupt();
  EXPECT_FALSE(interrupted());
}

}  // namespace
}  // namespace elixir
