// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/comparison_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/program_builder.h"
#include "memory/timeline.h"

namespace elixir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

memory::Attribution attribution_of(int layers) {
  fakes::TransformerOptions options;
  options.layers = layers;
  program::Profile profile;
  profile.model_path = "m" + std::to_string(layers) + ".pt";
  profile.program = fakes::transformer(options);
  profile.memory = memory::summarise(profile.program, profile.optimizer);
  return memory::attribute(profile);
}

TEST(ComparisonScreen, SaysWhenNothingChanged) {
  const std::string text = comparison_screen(compare(attribution_of(2), attribution_of(2)));
  EXPECT_THAT(text, HasSubstr("nothing changed: it is the same program"));
  EXPECT_THAT(text, Not(HasSubstr("modules that differ")));
}

TEST(ComparisonScreen, ShowsTotalsToTheByteAndNamesWhatIsNew) {
  const memory::Comparison comparison = compare(attribution_of(2), attribution_of(3));
  const std::string text = comparison_screen(comparison);
  EXPECT_THAT(text, HasSubstr("m3.pt compared with m2.pt\n"));
  EXPECT_THAT(text, HasSubstr("peak allocated"));
  EXPECT_THAT(text, HasSubstr("  at the peak: optimizer state"));
  EXPECT_THAT(text, HasSubstr("modules that differ: "));
  EXPECT_THAT(text, HasSubstr("  h.2.mlp"));
  EXPECT_THAT(text, HasSubstr("new\n"));
  EXPECT_THAT(text, HasSubstr("(backward)"));
  EXPECT_THAT(text, HasSubstr("operators by module that differ: "));
}

TEST(ComparisonScreen, ShowsBothEndsOfALongList) {
  memory::Comparison comparison = compare(attribution_of(2), attribution_of(3));
  comparison.modules.clear();
  for (int i = 0; i < 30; ++i) {
    memory::ModuleChange change;
    change.path = "m." + std::to_string(i);
    change.at_peak_bytes = {100, 115 - i};
    comparison.modules.push_back(change);
  }
  const std::string text = comparison_screen(comparison);
  EXPECT_THAT(text, HasSubstr("modules that differ: 30 (15 grew, 14 shrank, 0 new, 0 gone)"));
  for (const char* shown : {"m.0 ", "m.6 ", "m.27 ", "m.28 ", "m.29 "}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, Not(HasSubstr("m.7 ")));
  EXPECT_THAT(text, Not(HasSubstr("m.26 ")));
}

TEST(ComparisonJson, HasEverythingBeforeAndNow) {
  const memory::Comparison comparison = compare(attribution_of(2), attribution_of(3));
  const Json json = to_json(comparison);
  EXPECT_EQ(json["same_program"], false);
  EXPECT_EQ(json["peak_allocated_bytes"]["now"], comparison.peak_allocated_bytes.after);
  EXPECT_TRUE(json["peak_reserved_bytes"]["before"].is_null());
  EXPECT_EQ(json["modules"].size(), comparison.modules.size());
  EXPECT_EQ(json["operators"].size(), comparison.operators.size());
  EXPECT_EQ(json["categories"].size(), 8U);
  EXPECT_EQ(json["modules"][0]["presence"], "new");
  EXPECT_EQ(json["inputs"]["now"][0], "tokens int64[32]");
}

}  // namespace
}  // namespace elixir::report
