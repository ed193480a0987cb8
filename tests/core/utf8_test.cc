// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace elixir {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

TEST(Utf8, KeepsWellFormedText) {
  for (const std::string text :
       {"", "plain", "µ ± → 中文", "\xf0\x9f\x98\x80", "\x7f\x01", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(well_formed_utf8(text), text);
  }
}

TEST(Utf8, ReplacesEveryByteOutsideSequences) {
  EXPECT_EQ(well_formed_utf8("a\xff"
                             "b"),
            std::string("a") + kReplacement + "b");
  EXPECT_EQ(well_formed_utf8("\xc3"), kReplacement);                                  // cut short
  EXPECT_EQ(well_formed_utf8("\xe2\x82"), std::string(kReplacement) + kReplacement);  // cut short
  EXPECT_EQ(well_formed_utf8("\xc3("), std::string(kReplacement) + "(");
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndWhatIsBeyondUnicode) {
  EXPECT_EQ(utf8_sequence_bytes("\xc0\x80"), 0U);
  EXPECT_EQ(utf8_sequence_bytes("\xe0\x80\x80"), 0U);
  EXPECT_EQ(utf8_sequence_bytes("\xed\xa0\x80"), 0U);
  EXPECT_EQ(utf8_sequence_bytes("\xf0\x80\x80\x80"), 0U);
  EXPECT_EQ(utf8_sequence_bytes("\xf4\x90\x80\x80"), 0U);
  EXPECT_EQ(utf8_sequence_bytes("\xed\x9f\xbf"), 3U);
  EXPECT_EQ(utf8_sequence_bytes("\xe0\xa0\x80"), 3U);
}

}  // namespace
}  // namespace elixir
