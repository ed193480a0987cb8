// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/terminal/line_printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace elixir::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LinePrinterTest : public testing::Test {
 protected:
  std::unique_ptr<LinePrinter> make(ProgressMode mode) {
    return std::make_unique<LinePrinter>(
        mode,
        style_,
        [this](std::string_view text) { written_.emplace_back(text); },
        [this] { return now_ns_; });
  }
  Style style_;
  std::int64_t now_ns_ = 0;
  std::vector<std::string> written_;
};

TEST_F(LinePrinterTest, OverwritesOneLineAtMostTenTimesPerSecond) {
  const auto printer = make(ProgressMode::kTerminal);
  for (int i = 0; i < 1000; ++i) {
    printer->update(i / 1000.0, "working");
    now_ns_ += 1'000'000;
  }
  EXPECT_EQ(written_.size(), 10U);
  EXPECT_EQ(written_.front(), "\r  0 % working\x1b[K");
  EXPECT_EQ(written_.back(), "\r 90 % working\x1b[K");
}

TEST_F(LinePrinterTest, ShowsTheEndAtOnceAndClearsTheLine) {
  auto printer = make(ProgressMode::kTerminal);
  printer->update(0.1, "a");
  printer->update(1, "a");
  printer->clear();
  printer->clear();
  printer.reset();
  EXPECT_THAT(written_, ElementsAre("\r 10 % a\x1b[K", "\r100 % a\x1b[K", "\r\x1b[K"));
}

TEST_F(LinePrinterTest, ElidesTheMiddleToTheWidth) {
  style_.columns = 20;
  const auto printer = make(ProgressMode::kTerminal);
  printer->update(0.5, "transformer.h.0.attn.c_attn");
  EXPECT_EQ(written_.at(0), "\r 50 % tr...n.c_attn\x1b[K");
}

TEST_F(LinePrinterTest, PipesGetALinePerTenPercent) {
  const auto printer = make(ProgressMode::kLines);
  for (int i = 0; i <= 100; ++i) printer->update(i / 100.0, "w");
  EXPECT_EQ(written_.size(), 11U);
  EXPECT_EQ(written_.at(1), " 10 % w\n");
}

TEST_F(LinePrinterTest, PipesGetALinePerThirtySecondsWhenNothingMoves) {
  const auto printer = make(ProgressMode::kLines);
  for (int second = 0; second <= 60; ++second) {
    printer->update(-1, "w");
    now_ns_ += 1'000'000'000;
  }
  EXPECT_THAT(written_, ElementsAre("w\n", "w\n", "w\n"));
}

TEST_F(LinePrinterTest, OffWritesNothing) {
  auto printer = make(ProgressMode::kOff);
  printer->update(0.5, "w");
  printer->clear();
  printer.reset();
  EXPECT_THAT(written_, IsEmpty());
}

TEST(ElideMiddle, KeepsBothEndsAndCodePoints) {
  EXPECT_EQ(elide_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(elide_middle("abcdefghij", 9), "abc...hij");
  EXPECT_EQ(elide_middle("abcdefghij", 8), "abc...ij");
  EXPECT_EQ(elide_middle("ääääääää", 5), "ä...ä");
  EXPECT_EQ(elide_middle("abcdefghij", 3), "...");
  EXPECT_EQ(elide_middle("abcdefghij", 1), ".");
  EXPECT_EQ(elide_middle("abcdefghij", 4), "a...");
}

}  // namespace
}  // namespace elixir::report
