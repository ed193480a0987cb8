// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "difference.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace elixir::capture {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Difference, OfEqualLinesIsEmpty) {
  EXPECT_EQ(difference({}, {}), "");
  EXPECT_EQ(difference({"a", "s1.0"}, {"a", "s1.0"}), "");
}

TEST(Difference, ShowsACallTooManyAndNotTheNumbersAfterIt) {
  const std::string text = difference({"F first(s0.0)", "F second(s1.0)", "storage 1 8 temporary "},
                                      {"F first(s0.0)",
                                       "F between(s1.0)",
                                       "F second(s2.0)",
                                       "storage 1 4 temporary ",
                                       "storage 2 8 temporary "});
  EXPECT_THAT(text, HasSubstr("4 lines differ"));
  EXPECT_THAT(text, HasSubstr("both F first(s0.0)\n  real F between(s1.0)\n"));
  EXPECT_THAT(text, HasSubstr("real storage 1 4 temporary"));
  EXPECT_THAT(text, Not(HasSubstr("second(s2.0)")));
  EXPECT_THAT(text, Not(HasSubstr("storage 2 8")));
}

TEST(Difference, ShowsNumbersWhereNothingElseDiffers) {
  const std::string text = difference({"F call(s1.0) -> (s2.0)"}, {"F call(s1.0) -> (s1.1)"});
  EXPECT_THAT(text, HasSubstr("1 lines differ"));
  EXPECT_THAT(text, HasSubstr("meta F call(s1.0) -> (s2.0)"));
  EXPECT_THAT(text, HasSubstr("real F call(s1.0) -> (s1.1)"));
  EXPECT_THAT(difference({"F call(s1.0)"}, {"F call(s2.0)"}), HasSubstr("real F call(s2.0)"));
}

/// A changed geometry is shown for both sides. A name that ends in a number is not a storage.
TEST(Difference, KeepsWhatOnlyLooksLikeAStorage) {
  EXPECT_THAT(difference({"parameter layers1.0.weight [2]"}, {"parameter layers2.0.weight [2]"}),
              HasSubstr("meta parameter layers1.0.weight [2]\n  real parameter layers2.0"));
}

TEST(Difference, ShowsFortyLinesAtMost) {
  const std::string text =
      difference(std::vector<std::string>(50, "F a()"), std::vector<std::string>(50, "F b()"));
  std::size_t shown = 0;
  for (std::size_t at = text.find("F "); at != std::string::npos; at = text.find("F ", at + 1)) {
    ++shown;
  }
  EXPECT_EQ(shown, 40U);
  EXPECT_THAT(text, HasSubstr("50 lines differ"));
}

}  // namespace
}  // namespace elixir::capture
