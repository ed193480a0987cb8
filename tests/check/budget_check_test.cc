// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Elixir authors
#include "check/budget_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/units.h"
#include "fakes/program_builder.h"
#include "memory/step/timeline.h"

namespace elixir::check {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

program::Profile profile_of(int layers) {
  fakes::TransformerOptions options;
  options.layers = layers;
  program::Profile profile;
  profile.model_path = "m.pt";
  profile.program = fakes::transformer(options);
  profile.memory = memory::summarise(profile.program, profile.optimizer);
  return profile;
}

CheckedDocument profile(int layers = 2) {
  return check::checked_document("a.profile.json", profile_of(layers));
}

/// The plan of profile()'s program.
CheckedDocument plan_document() {
  plan::Plan plan;
  plan.programs = {{.role = "train", .fingerprint = profile().fingerprint}};
  plan.hardware = {.fingerprint = "", .device_kind = program::DeviceKind::kCpu, .sm = 0};
  plan.chunks = {{.bytes = 300}, {.bytes = 100, .parameter_home = plan::Home::kHost}};
  plan.cache = {.blocks = 2, .block_bytes = 50};
  plan.predicted = {.step_ns = 1000,
                    .streams = {{"compute", 900}, {"host_to_device", 400}},
                    .peak_allocated_bytes = 1000,
                    .host_bytes = 77};
  return check::checked_document("plan.json", plan);
}

Rules limit(Quantity quantity, std::int64_t value) {
  Rules rules;
  rules.limits[check::index_of(quantity)] = check::Limit{value, {}};
  return rules;
}

Rules increase(double percent) {
  Rules rules;
  rules.max_increase = check::Increase{percent, {}};
  return rules;
}

Check only_check(const CheckReport& report) {
  EXPECT_EQ(report.files.size(), 1U);
  EXPECT_EQ(report.files.front().checks.size(), 1U);
  return report.files.front().checks.front();
}

TEST(BudgetCheck, ExactlyTheLimitIsWithinAndOneLessIsOver) {
  const CheckedDocument document = profile();
  const std::int64_t peak = *document.values[check::index_of(Quantity::kPeakAllocated)];
  const CheckReport within =
      check_documents({{document, limit(Quantity::kPeakAllocated, peak), {}}});
  EXPECT_EQ(only_check(within).verdict, Verdict::kWithin);
  EXPECT_EQ(within.failed, 0);
  EXPECT_EQ(within.within, 1);
  EXPECT_THAT(within.files.front().culprits, IsEmpty());

  const CheckReport over =
      check_documents({{document, limit(Quantity::kPeakAllocated, peak - 1), {}}});
  const Check failed = only_check(over);
  EXPECT_EQ(failed.verdict, Verdict::kOver);
  EXPECT_EQ(failed.overshoot(), 1);
  EXPECT_DOUBLE_EQ(*failed.overshoot_percent(), 100.0 / static_cast<double>(peak - 1));
  EXPECT_EQ(failed.key(), "max_peak_allocated_bytes");
  EXPECT_EQ(over.failed, 1);
  EXPECT_TRUE(over.files.front().failed());
}

TEST(BudgetCheck, AZeroLimitHasNoPercentage) {
  const Check failed =
      only_check(check_documents({{profile(), limit(Quantity::kParameters, 0), {}}}));
  EXPECT_EQ(failed.verdict, Verdict::kOver);
  EXPECT_EQ(failed.overshoot_percent(), std::nullopt);
}

TEST(BudgetCheck, WhatNobodyKnowsFails) {
  for (const Quantity quantity :
       {Quantity::kPeakReserved, Quantity::kProcess, Quantity::kStepTime, Quantity::kHost}) {
    const CheckReport report = check_documents({{profile(), limit(quantity, INT64_MAX), {}}});
    const Check failed = only_check(report);
    EXPECT_EQ(failed.verdict, Verdict::kNotKnown);
    EXPECT_EQ(failed.value, std::nullopt);
    EXPECT_EQ(failed.overshoot(), 0);
    EXPECT_THAT(failed.reason, HasSubstr(std::string(check::info_of(quantity).title)));
    EXPECT_EQ(report.failed, 1);
  }
  for (const Quantity quantity : {Quantity::kPeakReserved,
                                  Quantity::kProcess,
                                  Quantity::kActivations,
                                  Quantity::kParameters}) {
    const Check failed =
        only_check(check_documents({{plan_document(), limit(quantity, INT64_MAX), {}}}));
    EXPECT_EQ(failed.verdict, Verdict::kNotKnown);
  }
}

TEST(BudgetCheck, ProfileAndPlanOfOneProgramAnswerForEachOther) {
  const Rules time = limit(Quantity::kStepTime, 1000);
  const CheckReport report = check_documents({{profile(), time, {}}, {plan_document(), time, {}}});
  EXPECT_EQ(report.files[0].checks.front().verdict, Verdict::kWaived);
  EXPECT_THAT(report.files[0].checks.front().reason, HasSubstr("plan of the same program"));
  EXPECT_EQ(report.files[1].checks.front().verdict, Verdict::kWithin);
  EXPECT_EQ(report.waived, 1);
  EXPECT_EQ(report.failed, 0);
  // Not if the plan is of another program, or if its own limit was removed.
  EXPECT_EQ(check_documents({{profile(3), time, {}}, {plan_document(), time, {}}}).failed, 1);
  EXPECT_EQ(check_documents({{profile(), time, {}}, {plan_document(), Rules{}, {}}}).failed, 1);
  // Each document answers for its own reserved memory.
  const Rules reserved = limit(Quantity::kPeakReserved, INT64_MAX);
  EXPECT_EQ(check_documents({{profile(), reserved, {}}, {plan_document(), reserved, {}}}).failed,
            2);
}

TEST(BudgetCheck, AnIncreaseIsMeasuredAgainstTheBaseline) {
  const CheckedDocument before = profile(2);
  const CheckedDocument after = profile(3);
  const CheckReport report = check_documents({{after, increase(2), before}});
  const check::FileReport& file = report.files.front();
  // Peak allocated, activations, parameters: the values that both profiles have.
  ASSERT_EQ(file.checks.size(), 3U);
  for (const Check& check : file.checks) {
    EXPECT_EQ(check.verdict, Verdict::kOver);
    EXPECT_EQ(*check.limit, *check.baseline_value + *check.baseline_value * 2 / 100);
  }
  EXPECT_EQ(file.checks.front().key(), "max_increase_percent/peak_allocated_bytes");
  // Improvements and no change are fine at 0 %.
  EXPECT_EQ(check_documents({{before, increase(0), after}}).failed, 0);
  EXPECT_EQ(check_documents({{after, increase(0), after}}).failed, 0);
}

TEST(BudgetCheck, IncreasesAreRoundedDownAndCannotOverflow) {
  CheckedDocument before = profile();
  CheckedDocument after = profile();
  auto& old = before.values[check::index_of(Quantity::kPeakAllocated)];
  auto& now = after.values[check::index_of(Quantity::kPeakAllocated)];
  Rules rules;
  rules.max_increases[check::index_of(Quantity::kPeakAllocated)] = check::Increase{1, {}};
  old = 199;  // 1 % is 1.99
  now = 200;
  EXPECT_EQ(only_check(check_documents({{after, rules, before}})).verdict, Verdict::kWithin);
  now = 201;
  EXPECT_EQ(only_check(check_documents({{after, rules, before}})).verdict, Verdict::kOver);
  old = std::numeric_limits<std::int64_t>::max() - 5;
  rules.max_increases[check::index_of(Quantity::kPeakAllocated)] = check::Increase{1e6, {}};
  EXPECT_EQ(only_check(check_documents({{after, rules, before}})).limit,
            std::numeric_limits<std::int64_t>::max());
  // Exact, unlike a double.
  old = (std::int64_t{1} << 60) + 1;
  now = (std::int64_t{1} << 60) + 1;
  rules.max_increases[check::index_of(Quantity::kPeakAllocated)] = check::Increase{0, {}};
  EXPECT_EQ(only_check(check_documents({{after, rules, before}})).verdict, Verdict::kWithin);
  ++*now;
  EXPECT_EQ(only_check(check_documents({{after, rules, before}})).overshoot(), 1);
}

TEST(BudgetCheck, WhatOnlyOneSideKnowsIsNoSilentPass) {
  CheckedDocument before = profile();
  before.values[check::index_of(Quantity::kPeakReserved)] = 5;
  const CheckReport lost = check_documents({{profile(), increase(50), before}});
  EXPECT_EQ(lost.failed, 1);  // reserved is missing now
  // A new figure has no baseline, which is fine unless its own increase is limited.
  EXPECT_EQ(check_documents({{before, increase(50), profile()}}).failed, 0);
  Rules rules;
  rules.max_increases[check::index_of(Quantity::kPeakReserved)] = check::Increase{50, {}};
  EXPECT_EQ(only_check(check_documents({{before, rules, profile()}})).verdict, Verdict::kNotKnown);
}

TEST(BudgetCheck, WithoutBaselineTheIncreaseIsWaivedOnce) {
  const CheckReport report = check_documents({{profile(), increase(1), std::nullopt}});
  EXPECT_EQ(only_check(report).verdict, Verdict::kWaived);
  EXPECT_EQ(report.failed, 0);
}

TEST(BudgetCheck, NamesWhatIsLargestWithoutABaseline) {
  const CheckReport report = check_documents({{profile(), limit(Quantity::kPeakAllocated, 1), {}}});
  const auto& culprits = report.files.front().culprits;
  ASSERT_EQ(culprits.size(), 2U);
  EXPECT_EQ(culprits[0].what, "modules");
  EXPECT_EQ(culprits[1].what, "operators");
  for (const check::Culprits& list : culprits) {
    EXPECT_FALSE(list.grown);
    EXPECT_LE(list.entries.size(), 5U);
    for (std::size_t i = 1; i < list.entries.size(); ++i) {
      EXPECT_GE(list.entries[i - 1].value, list.entries[i].value);
    }
  }
  // Two equal layers are one entry.
  EXPECT_EQ(culprits[0].entries[0].name, "h.*.mlp");
  EXPECT_EQ(culprits[0].entries[0].count, 2);
  std::int64_t both = 0;
  const CheckedDocument document = profile();
  for (const memory::ModuleShare& module : document.attribution->modules) {
    if (module.path == "h.0.mlp" || module.path == "h.1.mlp") both += module.at_peak_bytes;
  }
  EXPECT_EQ(culprits[0].entries[0].value, both);
}

TEST(BudgetCheck, NamesWhoShrankToo) {
  CheckedDocument before = profile();
  CheckedDocument after = profile();
  memory::ModuleShare module;
  module.path = "adapter";
  module.at_peak_bytes = 300;
  before.attribution->modules.push_back(module);
  module.path = "gone";
  before.attribution->modules.push_back(module);
  module.path = "adapter";
  module.at_peak_bytes = 100;
  after.attribution->modules.push_back(module);
  module.path = "fresh";
  after.attribution->modules.push_back(module);
  Rules rules = limit(Quantity::kPeakAllocated, 1);
  const CheckReport report = check_documents({{after, rules, before}});
  const auto& culprits = report.files.front().culprits;
  ASSERT_GE(culprits.size(), 2U);
  EXPECT_TRUE(culprits[0].grown);
  ASSERT_EQ(culprits[0].entries.size(), 1U);
  EXPECT_EQ(culprits[0].entries[0].name, "fresh");
  EXPECT_TRUE(culprits[1].shrunk);
  EXPECT_EQ(culprits[1].what, "modules");
  ASSERT_EQ(culprits[1].entries.size(), 2U);
  EXPECT_EQ(culprits[1].entries[0].name, "gone");
  EXPECT_EQ(culprits[1].entries[0].value, 0);
  EXPECT_EQ(culprits[1].entries[1].name, "adapter");
}

TEST(BudgetCheck, JoinsOnlyWhatIsAlike) {
  CheckedDocument document = profile();
  auto& modules = document.attribution->modules;
  modules.clear();
  const auto add = [&modules](const std::string& path, std::int64_t bytes) {
    memory::ModuleShare module;
    module.path = path;
    module.at_peak_bytes = bytes;
    modules.push_back(module);
  };
  for (const char* path : {"h.0.mlp.2", "h.1.mlp.2", "h.12.mlp.2"}) add(path, 100);
  add("h.3.mlp.2", 101);   // another size
  add("h.4.attn.2", 100);  // another name
  add("h.x5.mlp.2", 100);  // no number
  const CheckReport report = check_documents({{document, limit(Quantity::kPeakAllocated, 1), {}}});
  const auto& entries = report.files.front().culprits.front().entries;
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, "h.*.mlp.2");
  EXPECT_EQ(entries[0].count, 3);
  EXPECT_EQ(entries[0].value, 300);
  EXPECT_EQ(entries[1].name, "h.3.mlp.2");
  EXPECT_EQ(entries[2].name, "h.4.attn.2");
  EXPECT_EQ(entries[3].name, "h.x5.mlp.2");
}

TEST(BudgetCheck, NamesWhatGrewWithABaseline) {
  const CheckReport report =
      check_documents({{profile(3), limit(Quantity::kPeakAllocated, 1), profile(2)}});
  const check::Culprits& modules = report.files.front().culprits.front();
  EXPECT_TRUE(modules.grown);
  ASSERT_FALSE(modules.entries.empty());
  EXPECT_EQ(modules.entries.front().name, "h.2.mlp");
  EXPECT_EQ(modules.entries.front().before, 0);
  for (const check::Culprit& culprit : modules.entries) EXPECT_GT(culprit.value, *culprit.before);
}

TEST(BudgetCheck, NothingGrewFallsBackToTheLargest) {
  const CheckReport report =
      check_documents({{profile(2), limit(Quantity::kPeakAllocated, 1), profile(2)}});
  EXPECT_FALSE(report.files.front().culprits.front().grown);
}

TEST(BudgetCheck, CulpritsAreOfTheQuantityThatIsOver) {
  Rules rules = limit(Quantity::kParameters, 1);
  rules.limits[check::index_of(Quantity::kActivations)] = check::Limit{1, {}};
  const CheckReport report = check_documents({{profile(), rules, {}}});
  const auto& culprits = report.files.front().culprits;
  ASSERT_EQ(culprits.size(), 3U);
  EXPECT_EQ(culprits[0].share, "activations");
  EXPECT_EQ(culprits[2].share, "parameters");
  EXPECT_EQ(culprits[2].measure, Measure::kCount);
}

TEST(BudgetCheck, NamesCallsByLabelAndModule) {
  CheckedDocument document = profile();
  document.certainty =
      program::Certainty{.measured_calls = 3,
                         .measured_operators = {{.name = "aten::convolution",
                                                 .calls = 3,
                                                 .known_bytes = 512,
                                                 .modules = {{.path = "stem", .calls = 2}}}}};
  document.values[check::index_of(Quantity::kMeasuredCalls)] = 3;
  const CheckReport report = check_documents({{document, limit(Quantity::kMeasuredCalls, 0), {}}});
  const auto& culprits = report.files.front().culprits;
  ASSERT_EQ(culprits.size(), 1U);
  EXPECT_EQ(culprits[0].share, "measured calls");
  ASSERT_EQ(culprits[0].entries.size(), 2U);
  EXPECT_EQ(culprits[0].entries[0].name, "aten::convolution in stem");
  EXPECT_EQ(culprits[0].entries[0].value, 2);
  EXPECT_EQ(culprits[0].entries[1].name, "aten::convolution") << "of no known module";
}

TEST(BudgetCheck, OperatorsCountTheirWorkspaces) {
  program::Profile of = profile_of(2);
  const auto operators = [&] {
    const CheckReport report = check_documents(
        {{check::checked_document("a", of), limit(Quantity::kPeakAllocated, 1), {}}});
    return report.files.front().culprits.at(1).entries.front();
  };
  of.memory.workspaces_at_peak = {{.made_at = 0, .bytes = 8_MiB}};
  EXPECT_GE(operators().value, 8_MiB);
  EXPECT_THAT(operators().name, HasSubstr(of.program.operators[0].name));
}

TEST(BudgetCheck, APlanNamesStreamsAndPartsOfItsPeak) {
  Rules rules = limit(Quantity::kStepTime, 999);
  rules.limits[check::index_of(Quantity::kPeakAllocated)] = check::Limit{999, {}};
  const CheckReport report = check_documents({{plan_document(), rules, {}}});
  const auto& culprits = report.files.front().culprits;
  ASSERT_EQ(culprits.size(), 2U);
  EXPECT_EQ(culprits[0].what, "parts");
  EXPECT_EQ(culprits[0].entries[0].name, "everything else");
  EXPECT_EQ(culprits[0].entries[0].value, 1000 - 300 - 100);
  EXPECT_EQ(culprits[0].entries[1].value, 300);
  EXPECT_EQ(culprits[1].what, "streams");
  EXPECT_EQ(culprits[1].entries[0].name, "compute");
}

TEST(BudgetCheck, HostilePlansDoNotOverflow) {
  plan::Plan plan;
  plan.hardware.device_kind = program::DeviceKind::kCpu;
  plan.chunks.resize(10'000);
  for (plan::Chunk& chunk : plan.chunks) chunk.bytes = std::int64_t{1} << 50;
  plan.cache = {.blocks = INT32_MAX, .block_bytes = std::int64_t{1} << 50};
  const CheckedDocument document = check::checked_document("p", plan);
  EXPECT_EQ(document.memory_parts[0].value, INT64_MAX);
  EXPECT_EQ(document.memory_parts[1].value, INT64_MAX);
  EXPECT_EQ(document.memory_parts[2].value, 0);
}

}  // namespace
}  // namespace elixir::check
