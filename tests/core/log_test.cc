// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace elixir {
namespace {

using ::testing::ContainsRegex;

std::string said(log::Level level) {
  log::set_level(level);
  testing::internal::CaptureStderr();
  log::warning("w {}");
  log::info("i");
  log::verbose("v");
  log::set_level(log::Level::kInfo);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, DefaultLevelShowsWarningsAndInfo) {
  EXPECT_EQ(said(log::Level::kInfo), "warning: w {}\ninfo: i\n");
}

TEST(Log, QuietShowsErrorsAlone) {
  EXPECT_EQ(said(log::Level::kError), "");
}

TEST(Log, VerboseAddsTime) {
  EXPECT_THAT(said(log::Level::kVerbose),
              ContainsRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9]+ verbose: v\n"));
}

TEST(Log, ColoursTheLevelOnlyWhenAsked) {
  log::set_color(true);
  const std::string text = said(log::Level::kInfo);
  log::set_color(false);
  EXPECT_THAT(text, ContainsRegex("\x1b\\[.*warning\x1b\\[m: w"));
}

TEST(Log, RunsTheHookBeforeAMessageThatIsShown) {
  int calls = 0;
  log::set_before_message([&] { ++calls; });
  said(log::Level::kInfo);
  EXPECT_EQ(calls, 2);
  said(log::Level::kError);
  EXPECT_EQ(calls, 2);
  log::set_before_message({});
}

}  // namespace
}  // namespace elixir
