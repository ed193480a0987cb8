// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "report/screen/changes_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/program_builder.h"
#include "memory/step/timeline.h"

namespace elixir::report {
namespace {

using ::testing::ContainsRegex;
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

TEST(ChangesScreen, SaysWhenNothingChanged) {
  const std::string text =
      changes_screen(compare(attribution_of(2), attribution_of(2)), "old.json");
  EXPECT_THAT(text, HasSubstr("the programs are the same: modules and operators are as before"));
  EXPECT_THAT(text, Not(HasSubstr("modules that differ")));
}

TEST(ChangesScreen, ShowsTotalsToTheByteAndNamesWhatIsNew) {
  const memory::ProfileChanges changes = compare(attribution_of(2), attribution_of(3));
  const std::string text = changes_screen(changes, "old\n.json");
  EXPECT_THAT(text, HasSubstr("compared with old\\n.json\n"));
  EXPECT_THAT(text, HasSubstr("peak allocated"));
  EXPECT_THAT(text, HasSubstr("  at the tensors' peak: optimizer state"));
  EXPECT_THAT(text, HasSubstr("modules that differ: "));
  EXPECT_THAT(text, HasSubstr("  h.2.mlp"));
  EXPECT_THAT(text, HasSubstr("new\n"));
  EXPECT_THAT(text, HasSubstr("(backward)"));
  EXPECT_THAT(text, HasSubstr("operators by module that differ: "));
}

// With workspaces, the peak may be at another operator, and move where this one does not.
TEST(ChangesScreen, SaysThatThePeakIsThatOfTensors) {
  const std::string same =
      changes_screen(compare(attribution_of(2), attribution_of(2)), "old.json");
  EXPECT_THAT(same, ContainsRegex("the peak of tensors alone is at aten::.*, as before\n"));
  EXPECT_THAT(same, Not(HasSubstr("the peak is at")));
  memory::Attribution moved = attribution_of(2);
  moved.peak_module = "elsewhere";
  EXPECT_THAT(changes_screen(compare(attribution_of(2), moved), "old.json"),
              ContainsRegex("the peak of tensors alone is at .* in elsewhere, was at "));
}

TEST(ChangesScreen, JoinsLayersThatChangedAlike) {
  const std::string text =
      changes_screen(compare(attribution_of(2), attribution_of(5)), "old.json");
  EXPECT_THAT(text, HasSubstr("  h.*.mlp (3 alike)"));
  EXPECT_THAT(text, Not(HasSubstr("h.3.mlp")));
  EXPECT_THAT(text, HasSubstr("aten::gelu in h.*.mlp (3 alike)"));
}

memory::ModuleChange change_of(const std::string& path, std::int64_t growth) {
  memory::ModuleChange change;
  change.path = path;
  change.at_peak_bytes = {100, 100 + growth};
  return change;
}

TEST(ChangesScreen, ShowsBothEndsOfALongList) {
  memory::ProfileChanges changes = compare(attribution_of(2), attribution_of(3));
  changes.modules.clear();
  for (int i = 0; i < 26; ++i) {
    changes.modules.push_back(change_of(std::string(1, static_cast<char>('a' + i)), 15 - i));
  }
  const std::string text = changes_screen(changes, "old.json");
  EXPECT_THAT(text,
              HasSubstr("modules that differ: 26 (15 grew, 10 shrank, 0 new, 0 gone, "
                        "1 in parameters or peak inside alone)"));
  for (const char* shown : {"\n  a ", "\n  g ", "\n  x ", "\n  y ", "\n  z "}) {
    EXPECT_THAT(text, HasSubstr(shown));
  }
  EXPECT_THAT(text, Not(HasSubstr("\n  h ")));
  EXPECT_THAT(text, Not(HasSubstr("\n  w ")));
  // 15 … -10 in all; 15 … 9 and -8 … -10 are shown.
  EXPECT_THAT(text, HasSubstr("\n  ... 16 more, together  "));
  EXPECT_THAT(text.substr(text.find("... 16 more")), HasSubstr(" +8\n"));
}

TEST(ChangesScreen, AddsUpToThePeakWithWhatIsNoTensor) {
  memory::ProfileChanges changes = compare(attribution_of(2), attribution_of(3));
  EXPECT_THAT(changes_screen(changes, "old.json"), Not(HasSubstr("workspaces")));
  changes.peak_allocated_bytes.after += 3 << 20;
  const std::string text = changes_screen(changes, "old.json");
  const std::size_t at = text.find("  beyond it: workspaces, unsplit blocks");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_THAT(text.substr(at, 80), HasSubstr(" 3.0  +3,145,728\n"));
}

TEST(ChangesScreen, SumsWhatItJoinsAndSortsBySum) {
  memory::ProfileChanges changes = compare(attribution_of(2), attribution_of(3));
  changes.modules = {change_of("big", 250)};
  for (const char* path : {"h.0.a", "h.1.a", "h.10.a"}) {
    changes.modules.push_back(change_of(path, 100));
    changes.modules.back().peak_inside_bytes = {0, changes.modules.size() == 3U ? 9 : 7};
  }
  changes.modules.push_back(change_of("h.2.a", 99));
  const std::string text = changes_screen(changes, "old.json");
  const std::size_t joined = text.find("  h.*.a (3 alike)              +300");
  ASSERT_NE(joined, std::string::npos) << text;
  EXPECT_LT(joined, text.find("  big "));
  EXPECT_LT(text.find("  big "), text.find("  h.2.a "));
  EXPECT_THAT(text.substr(joined, 110), HasSubstr("+9\n"));
}

TEST(ComparisonJson, HasEverythingBeforeAndNow) {
  const memory::ProfileChanges changes = compare(attribution_of(2), attribution_of(3));
  const Json json = to_json(changes);
  EXPECT_EQ(json["same_program"], false);
  EXPECT_EQ(json["peak_allocated_bytes"]["now"], changes.peak_allocated_bytes.after);
  EXPECT_TRUE(json["peak_reserved_bytes"]["before"].is_null());
  EXPECT_EQ(json["modules"].size(), changes.modules.size());
  EXPECT_EQ(json["operators"].size(), changes.operators.size());
  EXPECT_EQ(json["categories"].size(), 8U);
  EXPECT_EQ(json["modules"][0]["presence"], "new");
  EXPECT_EQ(json["inputs"]["now"][0], "tokens int64[32]");
}

}  // namespace
}  // namespace elixir::report
